// Exercise 05.2: rows of any length at any address are right, and have the same bits wherever they lie.
#include <2_same_bits.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/run.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#endif

using testing::Data;
using testing::NormCase;

namespace {

testing::Summation summation(std::int64_t cols) { return testing::dealt_in_fours(cols, exercise::block_threads); }

/// x and y start four bytes beyond a multiple of 16, so this is the scalar kernel, whoever chooses.
testing::NormResult scalar_result(std::int64_t cols) {
  return testing::run(exercise::layer_norm, testing::make_case(3, cols, Data::offset_10, 7),
                      {.x_offset = 1, .y_offset = 1});
}

void require_written() {
  static const std::vector<float> fours = scalar_result(8).y;
  static const std::vector<float> tail = scalar_result(3).y;
  REQUIRE_MESSAGE(!std::any_of(fours.begin(), fours.end(), is_not_written_yet),
                  LNH_SUBJECT " is not written yet: the scalar load_four and store_four are those of the stub");
  REQUIRE_MESSAGE(!std::all_of(tail.begin(), tail.end(), DeviceBuffer<float>::is_poison),
                  LNH_SUBJECT " is not written yet: in a row of three columns, which is all tail, y holds what it held "
                              "before");
}

/// In each thread one four, loaded and stored as the kernel does it, in the order x, y, z, w.
template <exercise::Access access>
__global__ void loaded_kernel(const float* in, float* out) {
  const float4 four = exercise::load_four<access>(in + 4 * threadIdx.x);
  out[4 * threadIdx.x] = four.x, out[4 * threadIdx.x + 1] = four.y;
  out[4 * threadIdx.x + 2] = four.z, out[4 * threadIdx.x + 3] = four.w;
}

template <exercise::Access access>
__global__ void stored_kernel(const float* in, float* out) {
  const float* p = in + 4 * threadIdx.x;
  exercise::store_four<access>(out + 4 * threadIdx.x, {p[0], p[1], p[2], p[3]});
}

std::vector<float> moved_by(void (*kernel)(const float*, float*), const std::vector<float>& values) {
  const DeviceBuffer<float> in("in", values), out("out", in.size());
  launch(kernel, {1, static_cast<unsigned>(values.size() / 4)}, in.data(), out.data());
  return out.download();
}

std::string moved(const testing::RunOptions& by) {
  return "x, y, gamma and beta moved by " + std::to_string(by.x_offset) + ", " + std::to_string(by.y_offset) + ", " +
         std::to_string(by.gamma_offset) + " and " + std::to_string(by.beta_offset) + " floats";
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": right within the bound on rows of every length and kind") {
  require_written();
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  // Without a tail, with one of 1, 2 and 3; tail alone; a tail that belongs to the last thread, and to the first again.
  for (const std::int64_t cols : {1000, 1001, 1002, 1003, 1, 2, 3, 4, 5, 127, 1023, 1025, 2051}) {
    for (const Data data : testing::all_data()) cases.push_back(testing::make_case(3, cols, data, seed++));
  }
  for (const NormCase& input : testing::judgeable(cases, summation).judged) {
    const auto verdict = testing::judge(exercise::layer_norm, input, summation(input.cols));
    REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
  }
}

TEST_CASE(LNH_SUBJECT ": four floats one by one are the same four, in the same order") {
  require_written();
  const std::vector<float> values = testing::make_case(1, 4 * 32, Data::centred, 5).x;
  CHECK_MESSAGE(testing::same_bits(moved_by(loaded_kernel<exercise::Access::scalar>, values), values),
                LNH_SUBJECT ": load_four<Access::scalar>(p) must return p[0], p[1], p[2], p[3] as x, y, z, w");
  CHECK_MESSAGE(testing::same_bits(moved_by(stored_kernel<exercise::Access::scalar>, values), values),
                LNH_SUBJECT ": store_four<Access::scalar>(p, values) must write x, y, z, w to p[0], p[1], p[2], p[3]");
}

TEST_CASE(LNH_SUBJECT ": the same bits wherever x, y, gamma and beta lie, each on its own") {
  require_written();
  // Centred as well: values of both signs round in other places than values near 100.
  for (const Data data : {Data::offset_100, Data::centred}) {
    for (const std::int64_t cols : {1024, 1000, 4, 1001, 3}) {
      const NormCase input = testing::make_case(3, cols, data, static_cast<std::uint64_t>(cols));
      const testing::NormResult aligned = testing::run(exercise::layer_norm, input);
      for (const std::int64_t offset : {1, 2, 3}) {
        for (const testing::RunOptions& options :
             {testing::RunOptions{.x_offset = offset}, testing::RunOptions{.y_offset = offset},
              testing::RunOptions{.gamma_offset = offset}, testing::RunOptions{.beta_offset = offset}}) {
          const testing::NormResult result = testing::run(exercise::layer_norm, input, options);
          const bool same = testing::same_bits(result.y, aligned.y) && testing::same_bits(result.mean, aligned.mean) &&
                            testing::same_bits(result.rstd, aligned.rstd);
          REQUIRE_MESSAGE(same, LNH_SUBJECT " gives rows of " << cols << " columns other bits with " << moved(options)
                                                              << " than with all of them aligned");
        }
      }
    }
  }
}

TEST_CASE(LNH_SUBJECT ": a null gamma or beta hinders no vectors, and y may be written over x") {
  require_written();
  for (const std::int64_t cols : {1024, 1003}) {
    NormCase no_gamma = testing::make_case(3, cols, Data::offset_10, 8), no_beta = no_gamma;
    no_gamma.gamma.clear();
    no_beta.beta.clear();
    for (const NormCase& input : {no_gamma, no_beta}) {
      const auto verdict = testing::judge(exercise::layer_norm, input, summation(cols), {.in_place = true});
      REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " is wrong on " << verdict.text());
    }
  }
}

#ifdef LNH_CUDA

TEST_CASE(LNH_SUBJECT ": requests are not counted here") {
  require_written();
  MESSAGE("A GPU program cannot count its own requests: on the cuda backend this test judges the values, and the simt "
          "backend counts the requests.");
}

#else

TEST_CASE(LNH_SUBJECT ": accesses of 16 bytes wherever every row allows them") {
  require_written();
  const std::int64_t rows = 3, cols = 1024;
  NormCase input = testing::make_case(rows, cols, Data::centred, 3);
  const auto requests = [&] {
    simt::CountScope counts;
    testing::run(exercise::layer_norm, input);
    return counts.total().buffer("x").loads.requests;
  };
  const std::uint64_t needed = 2 * rows * cols / 128;
  CHECK_MESSAGE(requests() == needed, LNH_SUBJECT " asks for an aligned x in " << requests() << " requests, where "
                                                                               << needed << " of 512 bytes would do");
  input.gamma.clear();
  input.beta.clear();
  CHECK_MESSAGE(requests() == needed, LNH_SUBJECT " asks for an aligned x in "
                                          << requests() << " requests, where " << needed
                                          << " would do, if gamma and beta are null");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
