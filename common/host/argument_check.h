/// What the launchers' argument checks have in common.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

/// Refuses arguments on behalf of one launcher. Every message reads
/// "layer_norm (three_pass.cuh:81): cols is 0; it must be at least 1".
class ArgumentCheck {
public:
  /// The largest number of floats whose offsets in bytes fit in 64 bits.
  static constexpr std::int64_t most_floats = std::numeric_limits<std::int64_t>::max() / std::int64_t{sizeof(float)};

  ArgumentCheck(const char* function, const char* file, int line);

  /// Throws std::invalid_argument: name is value; limit.
  [[noreturn]] void refuse(std::string_view name, const std::string& value, std::string_view limit) const;

  void at_least(std::string_view name, std::int64_t value, std::int64_t limit) const;
  void at_most(std::string_view name, std::int64_t value, std::int64_t limit) const;
  void at_least_zero(std::string_view name, float value) const;  // NaN is refused too
  void not_null(std::string_view name, const void* pointer) const;
  /// The matrix [rows][cols] of float must be addressable; rows ≥ 0 and cols ≥ 1 are checked already.
  void addressable(std::int64_t rows, std::int64_t cols) const;

  /// A vector or matrix of float that a kernel reads or writes; null stands for an empty one.
  struct Range {
    std::string_view name;
    const float* data;
    std::int64_t count;
  };
  void disjoint(const Range& output, const Range& other) const;

private:
  std::string caller_;
};
