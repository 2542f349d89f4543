// Exercise 06.2: what each of the two norms costs that one template makes.
#include <2_one_template.cuh>

#include <benchmark/harness.h>

LAYER_NORM_BENCHMARK("exercise::layer_norm", exercise::layer_norm);
RMS_NORM_BENCHMARK("exercise::rms_norm", exercise::rms_norm);
