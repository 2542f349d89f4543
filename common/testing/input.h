/// An input that a kernel under test must not change.
#pragma once

#include <host/device_buffer.h>
#include <testing/compare.h>

#include <cstdint>
#include <span>
#include <stdexcept>

namespace testing {

class Input {
public:
  /// values must outlive this. offset: elements by which the pointer is moved from 256-byte alignment.
  Input(const char* name, std::span<const float> values, std::int64_t offset)
      : buffer_(name, values, offset), values_(values) {}

  float* data() const { return buffer_.data(); }
  /// Throws std::runtime_error if it was changed, or what lies beside it.
  void check_unchanged() const {
    buffer_.check_guards();
    if (!same_bits(buffer_.download(), values_))
      throw std::runtime_error("'" + buffer_.name() + "' was changed; a kernel must not write to its inputs");
  }

private:
  DeviceBuffer<float> buffer_;
  std::span<const float> values_;
};

}  // namespace testing
