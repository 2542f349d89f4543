// A fixture: the test of an exercise, which sees too little.
#include <2_sum.cuh>

#include <host/device_buffer.h>
#include <host/launch.h>

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("zeros have the sum 0") {
  const DeviceBuffer<float> values("values", std::vector<float>(64, 0.0f)), sum("sum", 1);
  launch(exercise::sum_kernel, {1, 64}, values.data(), sum.data());
  CHECK(sum.download()[0] == 0);
}
