/// Device memory with a name, guard words on both sides, and poison inside.
#pragma once

#include <host/error.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// count elements of T in device memory.
///
/// The elements start as poison, so an output that was not written cannot pass for a result: for floating point a NaN
/// with a payload of its own, for integers the byte 0xA5 throughout. 64 guard bytes lie on both sides; check_guards()
/// tells whether a kernel wrote there. On the simt backend the guards are outside the buffer for the executor too:
/// touching them is a finding that gives the buffer's name.
template <class T>
class DeviceBuffer {
public:
  /// offset: elements by which the data is shifted from 256-byte alignment, to test misaligned pointers.
  explicit DeviceBuffer(std::string name, std::int64_t count, std::int64_t offset = 0);
  DeviceBuffer(std::string name, std::span<const T> values, std::int64_t offset = 0);
  /// Reserved and not poisoned: on the simt backend, pages that no kernel touches cost no memory.
  static DeviceBuffer untouched(std::string name, std::int64_t count);

  DeviceBuffer(DeviceBuffer&&) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) noexcept;
  ~DeviceBuffer();

  T* data() const { return data_; }
  std::int64_t size() const { return count_; }
  const std::string& name() const { return name_; }

  void poison();
  void upload(std::span<const T> values, std::int64_t first = 0);
  std::vector<T> download() const;
  std::vector<T> download(std::int64_t first, std::int64_t count) const;
  /// Throws std::runtime_error naming the buffer and the first changed guard byte's distance from the data.
  void check_guards() const;
  /// A NaN that no computation makes by itself (x86 makes 0xFFC00000, a GPU 0x7FFFFFFF), or 0xA5 in every byte.
  static T poison_value();
  /// Whether value is that, bit for bit.
  static bool is_poison(T value);

private:
  struct Untouched {};
  DeviceBuffer(std::string name, std::int64_t count, std::int64_t offset, Untouched);

  std::string name_;
  std::int64_t count_ = 0;
  void* allocation_ = nullptr;
  T* data_ = nullptr;
};
