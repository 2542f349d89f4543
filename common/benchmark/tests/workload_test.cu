// The judge of a benchmark's outputs: a right kernel passes, and one that does less than its work does not.
#include <benchmark/workload.h>
#include <host/device_buffer.h>

#include <atomic.cuh>
#include <backward.cuh>
#include <copy.cuh>
#include <rms_norm.cuh>
#include <three_pass.cuh>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

using benchmarking::Gradients;

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

void backward_without_the_last_row(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  LayerNormBackwardArgs fewer = args;
  fewer.rows = args.rows - 1;
  backward::layer_norm_separate(fewer, stream);
}

void backward_without_the_first_row(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  LayerNormBackwardArgs fewer = args;
  fewer.x += args.cols, fewer.dy += args.cols;
  fewer.mean += 1, fewer.rstd += 1;
  fewer.rows = args.rows - 1;
  fewer.dx = nullptr;
  backward::layer_norm_separate(fewer, stream);
  LayerNormBackwardArgs dx = args;
  dx.dgamma = dx.dbeta = nullptr;
  backward::layer_norm_separate(dx, stream);
}

void backward_without_gamma(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  LayerNormBackwardArgs without = args;
  without.gamma = nullptr;
  backward::layer_norm(without, stream);
}

void backward_without_dbeta(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  LayerNormBackwardArgs without = args;
  without.dbeta = nullptr;
  backward::layer_norm(without, stream);
}

void backward_with_dgamma_for_dbeta(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  LayerNormBackwardArgs swapped = args;
  swapped.dgamma = args.dbeta;
  swapped.dbeta = args.dgamma;
  backward::layer_norm(swapped, stream);
}

/// dx as if the two means over the row were 0.
void backward_without_the_means(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  LayerNormBackwardArgs long_rows = args;
  long_rows.dx = nullptr;
  backward::layer_norm(long_rows, stream);
  std::vector<float> dy(static_cast<std::size_t>(args.rows * args.cols)), gamma(static_cast<std::size_t>(args.cols)),
      rstd(static_cast<std::size_t>(args.rows));
  const auto fetch = [](std::vector<float>& to, const float* from) {
    check_cuda(cudaMemcpy(to.data(), from, sizeof(float) * to.size(), cudaMemcpyDeviceToHost), "fetching an input");
  };
  fetch(dy, args.dy), fetch(gamma, args.gamma), fetch(rstd, args.rstd);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] *= gamma[i % gamma.size()] * rstd[i / gamma.size()];
  check_cuda(cudaMemcpy(args.dx, dy.data(), sizeof(float) * dy.size(), cudaMemcpyHostToDevice), "writing dx");
}

void rms_norm_backward_that_is_layer_norms(const RmsNormBackwardArgs& args, cudaStream_t stream) {
  const DeviceBuffer<float> mean("mean", std::vector<float>(static_cast<std::size_t>(args.rows), 1.0f));
  LayerNormBackwardArgs centred = layer_norm_backward_args(args);
  centred.mean = mean.data();
  backward::layer_norm(centred, stream);
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

TEST_CASE("a right backward is verified, with more rows and columns than are sampled, with one row, and in parts") {
  for (const NormBackwardLauncher launcher :
       {NormBackwardLauncher(backward::layer_norm), NormBackwardLauncher(backward::layer_norm_separate),
        NormBackwardLauncher(backward::layer_norm_atomic), NormBackwardLauncher(backward::rms_norm)}) {
    CHECK(verdict(*benchmarking::make_workload(launcher, 150, 40)) == "");
    CHECK(verdict(*benchmarking::make_workload(launcher, 1, 40)) == "");
  }
  CHECK(verdict(*benchmarking::make_workload(backward::layer_norm, 300, 4096)) == "");  // more than 2²⁰ elements
  for (const Gradients gradients : {Gradients::dx, Gradients::sums}) {
    CHECK(verdict(*benchmarking::make_workload(backward::layer_norm_separate, 150, 40, gradients)) == "");
    CHECK(verdict(*benchmarking::make_workload(backward::rms_norm, 150, 40, gradients)) == "");
  }
}

TEST_CASE("a backward that does less than its work is not verified") {
  CHECK(verdict(*benchmarking::make_workload(backward_without_the_last_row, 150, 40))
            .starts_with("Element 5960 of dx was not written."));
  CHECK(verdict(*benchmarking::make_workload(backward_without_the_first_row, 150, 40))
            .starts_with("a sample of dgamma: "));
  CHECK(verdict(*benchmarking::make_workload(backward_without_gamma, 150, 40)).starts_with("a sample of dx: "));
  CHECK(verdict(*benchmarking::make_workload(backward_without_dbeta, 150, 40)) ==
        "Element 0 of dbeta was not written. ");
  CHECK(verdict(*benchmarking::make_workload(backward_with_dgamma_for_dbeta, 150, 40))
            .starts_with("a sample of dgamma: "));
  CHECK(verdict(*benchmarking::make_workload(backward_without_the_means, 150, 40)).starts_with("a sample of dx: "));
  CHECK(verdict(*benchmarking::make_workload(rms_norm_backward_that_is_layer_norms, 150, 40))
            .starts_with("a sample of dx: "));
}

TEST_CASE("a backward's sums stand out from their bound however many rows there are") {
  // One thread that adds up 2¹⁷ rows may err by 2¹⁷ · 2⁻²⁴, 0.8 %, of Σ|dy·x̂|: that much is allowed.
  const auto zeros = [](const LayerNormBackwardArgs& args, cudaStream_t stream) {
    for (float* sums : {args.dgamma, args.dbeta})
      check_cuda(cudaMemsetAsync(sums, 0, sizeof(float) * static_cast<std::size_t>(args.cols), stream), "zeros");
  };
  const std::string wrong = verdict(*benchmarking::make_workload(static_cast<LayerNormBackwardLauncher>(zeros),
                                                                 std::int64_t{1} << 17, 2, Gradients::sums));
  CHECK(wrong.find("a sample of dgamma: 2 of 2 elements are wrong") != std::string::npos);
  CHECK(wrong.find("a sample of dbeta: 2 of 2 elements are wrong") != std::string::npos);
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
  SUBCASE("dx") {
    const auto workload = benchmarking::make_workload(backward::layer_norm_separate, 8, 256, Gradients::dx);
    const simt::CountScope scope;
    workload->launch();
    CHECK(scope.total().bytes_touched() == static_cast<std::uint64_t>(workload->least_bytes()));
  }
  SUBCASE("dgamma and dbeta, without a workspace") {
    const auto workload = benchmarking::make_workload(backward::layer_norm_naive, 8, 256, Gradients::sums);
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
