// A fixture: the test of an exercise, and what the tests of mutants look for in its output.
#include <1_sum.cuh>

#include <host/device_buffer.h>
#include <host/launch.h>

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("REFERENCE: zeros have the sum 0") {
  const DeviceBuffer<float> values("values", std::vector<float>(64, 0.0f)), sum("sum", 1);
  launch(exercise::sum_kernel, {1, 64}, values.data(), sum.data());
  CHECK(sum.download()[0] == 0);
}

TEST_CASE("REFERENCE: the sum of 64 ones | is 64") {
  const DeviceBuffer<float> values("values", std::vector<float>(64, 1.0f)), sum("sum", 1);
  launch(exercise::sum_kernel, {1, 64}, values.data(), sum.data());
  CHECK(sum.download()[0] == 64);
}
