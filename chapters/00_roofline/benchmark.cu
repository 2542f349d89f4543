// What a copy costs: the ceiling that every other benchmark of the course is a fraction of.
#include "copy.cuh"

#include <benchmark/harness.h>

COPY_BENCHMARK("copy::scalar", copy::scalar);
COPY_BENCHMARK("copy::vectorized", copy::vectorized);
