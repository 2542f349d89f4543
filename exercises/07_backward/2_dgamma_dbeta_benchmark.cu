// Exercise 07.2: what dgamma and dbeta cost in two stages.
#include <2_dgamma_dbeta.cuh>

#include <benchmark/harness.h>

BACKWARD_BENCHMARK("exercise::layer_norm_dgamma_dbeta", exercise::layer_norm_dgamma_dbeta,
                   benchmarking::Gradients::sums);
