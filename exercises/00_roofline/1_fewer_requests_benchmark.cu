// Exercise 00.1: what the copy costs, before and after it is mended.
#include <1_fewer_requests.cuh>

#include <benchmark/harness.h>

COPY_BENCHMARK("exercise::copy", exercise::copy);
