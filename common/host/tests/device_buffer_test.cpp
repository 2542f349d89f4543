// A buffer's poison, guards and limits.
#include <host/device_buffer.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace {

/// Writes one byte, as a stray kernel would, at this distance from the buffer's data.
void write_byte(const DeviceBuffer<float>& buffer, std::int64_t distance) {
  const unsigned char byte = 0;
  CHECK(cudaMemcpy(reinterpret_cast<unsigned char*>(buffer.data()) + distance, &byte, 1, cudaMemcpyHostToDevice) ==
        cudaSuccess);
}

template <class T>
bool starts_as_poison() {
  const std::vector<T> values = DeviceBuffer<T>("poisoned", 5).download();
  return values.size() == 5 && std::all_of(values.begin(), values.end(), DeviceBuffer<T>::is_poison);
}

}  // namespace

TEST_CASE("a new buffer holds poison, which no value is taken for") {
  CHECK(starts_as_poison<float>());
  CHECK(starts_as_poison<double>());
  CHECK(starts_as_poison<int>());
  CHECK(starts_as_poison<unsigned>());
  CHECK(starts_as_poison<std::int64_t>());
  CHECK(starts_as_poison<std::uint16_t>());
  CHECK(starts_as_poison<unsigned char>());

  CHECK(std::isnan(DeviceBuffer<float>("poisoned", 1).download()[0]));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // The NaN of x86, of a GPU, and both with the other sign: what kernels compute is never taken for poison.
  for (const std::uint32_t bits : {0xFFC00000u, 0x7FC00000u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    CHECK_FALSE(DeviceBuffer<float>::is_poison(std::bit_cast<float>(bits)));
  }
  for (const float value :
       {0.0f, -0.0f, 1.0f, nan, -nan, std::nanf("0x12345"), std::numeric_limits<float>::infinity()}) {
    CHECK_FALSE(DeviceBuffer<float>::is_poison(value));
  }
  CHECK_FALSE(DeviceBuffer<int>::is_poison(0));
  CHECK_FALSE(DeviceBuffer<int>::is_poison(-1));
}

TEST_CASE("values go up and come back, and poison() forgets them") {
  const std::vector<float> values = {1, 2, 3, 4, 5};
  DeviceBuffer<float> buffer("x", values);
  CHECK(buffer.size() == 5);
  CHECK(buffer.name() == "x");
  CHECK(buffer.download() == values);
  CHECK(buffer.download(1, 3) == std::vector<float>{2, 3, 4});
  buffer.upload(std::vector<float>{8, 9}, 3);
  CHECK(buffer.download() == std::vector<float>{1, 2, 3, 8, 9});
  buffer.poison();
  CHECK(DeviceBuffer<float>::is_poison(buffer.download()[4]));
  buffer.check_guards();
}

TEST_CASE("the data is 256-byte aligned, or as many elements beside it as asked for") {
  for (const std::int64_t offset : {0, 1, 2, 3, 100}) {
    const DeviceBuffer<float> buffer("x", 7, offset);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256 == static_cast<std::uintptr_t>(offset * 4) % 256);
    buffer.check_guards();
  }
}

TEST_CASE("a byte written outside is found, with its distance") {
  for (const std::int64_t offset : {0, 1}) {
    for (const std::int64_t distance : {28, 31, 91}) {  // the data are 28 bytes; 64 guard bytes follow
      const DeviceBuffer<float> buffer("y", 7, offset);
      write_byte(buffer, distance);
      const std::string message = "'y' was written outside: a guard byte " + std::to_string(distance - 28) +
                                  " bytes behind its end has changed; a kernel's index is too large";
      CHECK_THROWS_WITH_AS(buffer.check_guards(), message.c_str(), std::runtime_error);
    }
    for (const std::int64_t distance : {-1, -4, -64}) {
      const DeviceBuffer<float> buffer("y", 7, offset);
      write_byte(buffer, distance);
      const std::string message = "'y' was written outside: a guard byte " + std::to_string(-distance) +
                                  " bytes before its start has changed; a kernel's index is negative";
      CHECK_THROWS_WITH_AS(buffer.check_guards(), message.c_str(), std::runtime_error);
    }
    const DeviceBuffer<float> inside("y", 7, offset);
    write_byte(inside, 0);
    write_byte(inside, 27);
    inside.check_guards();
  }
}

TEST_CASE("an empty buffer has an address and guards") {
  const DeviceBuffer<float> buffer("empty", 0);
  CHECK(buffer.data() != nullptr);
  CHECK(buffer.download().empty());
  buffer.check_guards();
  write_byte(buffer, 0);
  CHECK_THROWS_AS(buffer.check_guards(), std::runtime_error);
}

TEST_CASE("an untouched buffer may be longer than 2³¹ elements") {
  // On the CPU only the touched pages are memory.
  const std::int64_t count = (std::int64_t{1} << 31) + 1;
  DeviceBuffer<unsigned char> buffer = DeviceBuffer<unsigned char>::untouched("large", count);
  buffer.upload(std::vector<unsigned char>{1, 2}, count - 2);
  CHECK(buffer.download(count - 2, 2) == std::vector<unsigned char>{1, 2});
  buffer.check_guards();
}

TEST_CASE("a moved buffer keeps its memory and its name") {
  DeviceBuffer<int> first("first", std::vector<int>{1, 2, 3});
  int* const data = first.data();
  DeviceBuffer<int> second = std::move(first);
  CHECK(second.data() == data);
  CHECK(second.name() == "first");
  DeviceBuffer<int> third("third", 1);
  third = std::move(second);
  CHECK(third.data() == data);
  CHECK(third.download() == std::vector<int>{1, 2, 3});
}

TEST_CASE("requests outside the buffer, negative sizes and too much memory are refused") {
  DeviceBuffer<float> buffer("x", 4);
  CHECK_THROWS_WITH_AS(buffer.download(2, 3), "download of 3 elements from element 2 of 'x', which has 4",
                       std::out_of_range);
  CHECK_THROWS_AS(buffer.download(-1, 2), std::out_of_range);
  CHECK_THROWS_AS(buffer.download(0, -1), std::out_of_range);
  CHECK_THROWS_WITH_AS(buffer.upload(std::vector<float>{1, 2}, 3),
                       "upload of 2 elements to element 3 of 'x', which has 4", std::out_of_range);
  CHECK_THROWS_AS(buffer.upload(std::vector<float>(5)), std::out_of_range);
  CHECK_THROWS_WITH_AS(DeviceBuffer<float>("x", -1),
                       "the buffer 'x' has count -1 and offset 0; both must be at least 0", std::invalid_argument);
  CHECK_THROWS_AS(DeviceBuffer<float>("x", 1, -1), std::invalid_argument);
  try {
    DeviceBuffer<float>::untouched("huge", std::int64_t{1} << 52);
    FAIL("2⁵⁴ bytes were allocated");
  } catch (const CudaError& error) {
    CHECK(error.code() == cudaErrorMemoryAllocation);
    CHECK(std::string(error.what()).find("cudaMalloc of 18014398509482304 bytes for 'huge' failed at") !=
          std::string::npos);
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}
