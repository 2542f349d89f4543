// The judge of a benchmark's outputs: a right kernel passes, and one that does less than its work does not.
#include <benchmark/workload.h>

#include <copy.cuh>
#include <rms_norm.cuh>
#include <three_pass.cuh>

#include <doctest/doctest.h>

#include <string>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

namespace {

std::string verdict(benchmarking::Workload& workload) {
  workload.poison();
  workload.launch();
  return workload.verify();
}

void copy_all_but_the_last(const CopyArgs& args, cudaStream_t stream) {
  copy::scalar({.x = args.x, .y = args.y, .count = args.count - 1}, stream);
}

void norm_all_but_the_last_row(const LayerNormArgs& args, cudaStream_t stream) {
  LayerNormArgs fewer = args;
  fewer.rows = args.rows - 1;
  three_pass::layer_norm(fewer, stream);
}

void norm_without_beta(const LayerNormArgs& args, cudaStream_t stream) {
  LayerNormArgs without = args;
  without.beta = nullptr;
  three_pass::layer_norm(without, stream);
}

void norm_with_a_large_eps(const LayerNormArgs& args, cudaStream_t stream) {
  LayerNormArgs wrong = args;
  wrong.eps = 0.1f;
  three_pass::layer_norm(wrong, stream);
}

void rms_norm_without_the_last_row(const RmsNormArgs& args, cudaStream_t stream) {
  RmsNormArgs fewer = args;
  fewer.rows = args.rows - 1;
  rms_norm::rms_norm(fewer, stream);
}

void rms_norm_that_is_layer_norm(const RmsNormArgs& args, cudaStream_t stream) {
  rms_norm::layer_norm(layer_norm_args(args), stream);
}

void norm_without_statistics(const LayerNormArgs& args, cudaStream_t stream) {
  LayerNormArgs without = args;
  without.rstd = nullptr;
  three_pass::layer_norm(without, stream);
}

}  // namespace

TEST_CASE("a right copy is verified, and one that leaves out the last element is not") {
  CHECK(verdict(*benchmarking::make_workload(copy::vectorized, 1001)) == "");
  CHECK(verdict(*benchmarking::make_workload(copy_all_but_the_last, 1001)).starts_with("y[1000] is "));
}

TEST_CASE("a right LayerNorm is verified, with more rows than are sampled and with one") {
  CHECK(verdict(*benchmarking::make_workload(three_pass::layer_norm, 150, 40)) == "");
  CHECK(verdict(*benchmarking::make_workload(three_pass::layer_norm, 1, 40)) == "");
}

TEST_CASE("a LayerNorm that does less than its work is not verified") {
  CHECK(verdict(*benchmarking::make_workload(norm_all_but_the_last_row, 150, 40))
            .starts_with("Element 5960 of y was not written."));
  CHECK(verdict(*benchmarking::make_workload(norm_without_statistics, 150, 40)) ==
        "Element 0 of rstd was not written. ");
  CHECK(verdict(*benchmarking::make_workload(norm_without_beta, 150, 40)) != "");
  CHECK(verdict(*benchmarking::make_workload(norm_with_a_large_eps, 150, 40)) != "");
}

TEST_CASE("a right RMSNorm is verified, and one that does less, or LayerNorm's work, is not") {
  CHECK(verdict(*benchmarking::make_workload(rms_norm::rms_norm, 150, 40)) == "");
  CHECK(verdict(*benchmarking::make_workload(rms_norm_without_the_last_row, 150, 40))
            .starts_with("Element 5960 of y was not written."));
  CHECK(verdict(*benchmarking::make_workload(rms_norm_that_is_layer_norm, 150, 40)) != "");
}

TEST_CASE("launching again after poisoning gives a fresh verdict") {
  const auto workload = benchmarking::make_workload(copy::scalar, 100);
  REQUIRE(verdict(*workload) == "");
  workload->poison();
  CHECK(workload->verify() != "");
}

#ifndef LNH_CUDA
// The byte model against the executor: what a launch touches is the least that any cache must move.
TEST_CASE("the least bytes are the bytes that the executor sees touched, where every sector is used whole") {
  SUBCASE("copy") {
    const auto workload = benchmarking::make_workload(copy::vectorized, 4096);
    const simt::CountScope scope;
    workload->launch();
    CHECK(scope.total().bytes_touched() == static_cast<std::uint64_t>(workload->least_bytes()));
  }
  SUBCASE("LayerNorm with gamma, beta, mean and rstd") {
    const auto workload = benchmarking::make_workload(three_pass::layer_norm, 8, 256);
    const simt::CountScope scope;
    workload->launch();
    CHECK(scope.total().bytes_touched() == static_cast<std::uint64_t>(workload->least_bytes()));
  }
  SUBCASE("RMSNorm with gamma and rstd") {
    const auto workload = benchmarking::make_workload(rms_norm::rms_norm, 8, 256);
    const simt::CountScope scope;
    workload->launch();
    CHECK(scope.total().bytes_touched() == static_cast<std::uint64_t>(workload->least_bytes()));
  }
}
#endif
