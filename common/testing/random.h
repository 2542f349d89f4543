/// Random numbers that are the same with every compiler and library: the course's data must be.
#pragma once

#include <cstdint>

namespace testing {

/// SplitMix64 (Steele, Lea & Flood 2014). std::normal_distribution is no use here: each library has its own.
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// In [low, high).
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53); }

  /// Mean 0, variance 1: twelve uniform numbers of [0, 1), less 6. Their sum is exact, and no logarithm or cosine is
  /// involved whose last bit depends on the library. It differs from the normal distribution in the tails: |z| < 6.
  double normal() {
    std::uint64_t sum = 0;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t two = bits();
      sum += (two >> 32) + (two & 0xFFFFFFFFu);
    }
    return static_cast<double>(sum) * 0x1p-32 - 6;
  }

private:
  std::uint64_t state_;
};

}  // namespace testing
