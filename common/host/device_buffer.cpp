#include <host/device_buffer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <type_traits>
#include <utility>

#ifndef LNH_CUDA
#include <simt/memory.h>
#endif

namespace {

// The block of memory: [ 256 bytes, whose last 64 are guard | offset | data | 64 bytes of guard ]. 256 is cudaMalloc's
// own alignment, so data with offset 0 has it too.
constexpr std::size_t alignment = 256;
constexpr std::size_t guard_bytes = 64;
constexpr unsigned char guard_byte = 0x5A;

unsigned char* bytes_of(void* data) { return static_cast<unsigned char*>(data); }

}  // namespace

template <class T>
DeviceBuffer<T>::DeviceBuffer(std::string name, std::int64_t count, std::int64_t offset, Untouched)
    : name_(std::move(name)), count_(count) {
  if (count < 0 || offset < 0) {
    throw std::invalid_argument("the buffer '" + name_ + "' has count " + std::to_string(count) + " and offset " +
                                std::to_string(offset) + "; both must be at least 0");
  }
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(count);
  const std::size_t front = alignment + sizeof(T) * static_cast<std::size_t>(offset);
  check_cuda(cudaMalloc(&allocation_, front + bytes + guard_bytes),
             "cudaMalloc of " + std::to_string(front + bytes + guard_bytes) + " bytes for '" + name_ + "'");
  unsigned char* const first = bytes_of(allocation_) + front;
  data_ = reinterpret_cast<T*>(first);
  check_cuda(cudaMemset(first - guard_bytes, guard_byte, guard_bytes),
             "cudaMemset of the guard before '" + name_ + "'");
  check_cuda(cudaMemset(first + bytes, guard_byte, guard_bytes), "cudaMemset of the guard behind '" + name_ + "'");
#ifndef LNH_CUDA
  simt::describe_allocation(allocation_, data_, bytes, name_.c_str());
#endif
}

template <class T>
DeviceBuffer<T>::DeviceBuffer(std::string name, std::int64_t count, std::int64_t offset)
    : DeviceBuffer(std::move(name), count, offset, Untouched{}) {
  poison();
}

template <class T>
DeviceBuffer<T>::DeviceBuffer(std::string name, std::span<const T> values, std::int64_t offset)
    : DeviceBuffer(std::move(name), static_cast<std::int64_t>(values.size()), offset, Untouched{}) {
  upload(values);
}

template <class T>
DeviceBuffer<T> DeviceBuffer<T>::untouched(std::string name, std::int64_t count) {
  return DeviceBuffer(std::move(name), count, 0, Untouched{});
}

template <class T>
DeviceBuffer<T>::DeviceBuffer(DeviceBuffer&& other) noexcept
    : name_(std::move(other.name_)),
      count_(std::exchange(other.count_, 0)),
      allocation_(std::exchange(other.allocation_, nullptr)),
      data_(std::exchange(other.data_, nullptr)) {}

template <class T>
DeviceBuffer<T>& DeviceBuffer<T>::operator=(DeviceBuffer&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(count_, other.count_);
  std::swap(allocation_, other.allocation_);
  std::swap(data_, other.data_);
  return *this;
}

template <class T>
DeviceBuffer<T>::~DeviceBuffer() {
  cudaFree(allocation_);
}

template <class T>
void DeviceBuffer<T>::poison() {
  // One piece from here, the rest by doubling what is there already: gigabytes are not carried over a bus.
  constexpr std::int64_t piece = 1 << 16;
  std::int64_t filled = std::min(count_, piece);
  upload(std::vector<T>(static_cast<std::size_t>(filled), poison_value()));
  while (filled < count_) {
    const std::int64_t more = std::min(filled, count_ - filled);
    check_cuda(cudaMemcpy(data_ + filled, data_, sizeof(T) * static_cast<std::size_t>(more), cudaMemcpyDeviceToDevice),
               "poisoning of '" + name_ + "'");
    filled += more;
  }
#ifndef LNH_CUDA
  simt::mark_uninitialised(data_, static_cast<std::size_t>(count_) * sizeof(T));  // poison is no value
#endif
}

template <class T>
void DeviceBuffer<T>::upload(std::span<const T> values, std::int64_t first) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (first < 0 || first > count_ - count) {
    throw std::out_of_range("upload of " + std::to_string(count) + " elements to element " + std::to_string(first) +
                            " of '" + name_ + "', which has " + std::to_string(count_));
  }
  check_cuda(cudaMemcpy(data_ + first, values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
             "upload of '" + name_ + "'");
}

template <class T>
std::vector<T> DeviceBuffer<T>::download() const {
  return download(0, count_);
}

template <class T>
std::vector<T> DeviceBuffer<T>::download(std::int64_t first, std::int64_t count) const {
  if (first < 0 || count < 0 || first > count_ - count) {
    throw std::out_of_range("download of " + std::to_string(count) + " elements from element " + std::to_string(first) +
                            " of '" + name_ + "', which has " + std::to_string(count_));
  }
  std::vector<T> values(static_cast<std::size_t>(count));
  check_cuda(cudaMemcpy(values.data(), data_ + first, sizeof(T) * values.size(), cudaMemcpyDeviceToHost),
             "download of '" + name_ + "'");
  return values;
}

template <class T>
void DeviceBuffer<T>::check_guards() const {
  const auto guard_at = [&](const unsigned char* where) {
    std::array<unsigned char, guard_bytes> guard;
    check_cuda(cudaMemcpy(guard.data(), where, guard_bytes, cudaMemcpyDeviceToHost),
               "download of the guards of '" + name_ + "'");
    return guard;
  };
  const auto changed = [](unsigned char byte) { return byte != guard_byte; };
  unsigned char* const first = bytes_of(data_);

  const auto behind = guard_at(first + sizeof(T) * static_cast<std::size_t>(count_));
  if (const auto hit = std::find_if(behind.begin(), behind.end(), changed); hit != behind.end()) {
    throw std::runtime_error("'" + name_ + "' was written outside: a guard byte " +
                             std::to_string(hit - behind.begin()) +
                             " bytes behind its end has changed; a kernel's index is too large");
  }
  const auto before = guard_at(first - guard_bytes);
  if (const auto hit = std::find_if(before.rbegin(), before.rend(), changed); hit != before.rend()) {
    throw std::runtime_error("'" + name_ + "' was written outside: a guard byte " +
                             std::to_string(hit - before.rbegin() + 1) +
                             " bytes before its start has changed; a kernel's index is negative");
  }
}

template <class T>
T DeviceBuffer<T>::poison_value() {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(0xFFE5A5A5u);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(0xFFFCA5A5A5A5A5A5u);
  } else {
    return static_cast<T>(0xA5A5A5A5A5A5A5A5u);
  }
}

template <class T>
bool DeviceBuffer<T>::is_poison(T value) {
  using Bytes = std::array<unsigned char, sizeof(T)>;  // bits are compared: no NaN equals itself
  return std::bit_cast<Bytes>(value) == std::bit_cast<Bytes>(poison_value());
}

template class DeviceBuffer<float>;
template class DeviceBuffer<double>;
template class DeviceBuffer<int>;
template class DeviceBuffer<unsigned>;
template class DeviceBuffer<std::int64_t>;
template class DeviceBuffer<std::uint16_t>;
template class DeviceBuffer<unsigned char>;
