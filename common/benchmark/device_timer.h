/// What a benchmark asks of the device itself: how long a launch takes, by events; a copy; what was not written. For
/// the cuda backend only.
#pragma once

#include <host/backend.h>
#include <host/device_buffer.h>

#include <cstdint>
#include <functional>
#include <string>

namespace benchmarking {

/// The first card that the runtime offers.
struct Card {
  std::string name;
  std::int64_t l2_bytes;
  std::int64_t free_bytes;  // of its memory, now
};
Card card();

class DeviceTimer {
public:
  DeviceTimer();
  ~DeviceTimer();
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  /// Seconds of one launch that finds nothing of its data in the L2 cache: a buffer of four times its size is read
  /// before.
  double cold_seconds(const std::function<void()>& launch);
  /// Seconds of one launch whose data the launches before it left in the L2 cache, if it fits: the mean of 20 in a row.
  double warm_seconds(const std::function<void()>& launch);

private:
  double seconds(const std::function<void()>& launch, int launches);

  DeviceBuffer<float> flush_;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

/// The yardstick: y[i] = x[i] for i < count, 16 bytes a thread in blocks of 256, as chapter 00's copy::vectorized. It
/// is written again here because a kernel is defined once in a program, and chapter 00's own benchmark defines that
/// one. count must be a multiple of 4.
void yardstick_copy(const float* x, float* y, std::int64_t count);

/// The first element that is still poison; the buffer's size if there is none. The device looks: to carry a gigabyte to
/// the host takes longer than all launches of a measurement.
std::int64_t first_poison(const DeviceBuffer<float>& buffer);

}  // namespace benchmarking
