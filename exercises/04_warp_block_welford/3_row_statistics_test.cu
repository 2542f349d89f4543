// Exercise 04.3: the statistics of each row are right, and nothing of them depends on which warp is faster.
#include <3_row_statistics.cuh>

#include <host/device_buffer.h>
#include <testing/diagnosis.h>
#include <testing/subject.h>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#include <simt/finding.h>
#endif

namespace {

struct Statistics {
  std::vector<float> mean, rstd;  // [rows]
  std::string findings;           // of the executor's checks; empty if there are none
};

Statistics statistics_of(const std::vector<float>& x, std::int64_t cols, float eps) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / cols;
  const DeviceBuffer<float> in("x", x), mean("mean", rows), rstd("rstd", rows);
#ifndef LNH_CUDA
  const simt::FindingScope scope;  // values and findings are judged apart
#endif
  exercise::row_statistics(
      {.x = in.data(), .mean = mean.data(), .rstd = rstd.data(), .rows = rows, .cols = cols, .eps = eps}, nullptr);
  mean.check_guards();
  rstd.check_guards();
  Statistics result{mean.download(), rstd.download(), ""};
#ifndef LNH_CUDA
  if (!scope.findings().empty()) result.findings = scope.text();
#endif
  return result;
}

constexpr std::int64_t rows = 201;  // the last block has one row

/// Row r is the same row times a power of two, another one in each of 16 neighbouring rows: a statistic that belongs to
/// another row is off by such a factor. (The rows of NVIDIA/apex#1184, a reduction that was missing a barrier.)
int power_of(std::int64_t row) { return static_cast<int>(row % 16) - 8; }

std::vector<float> scaled_rows(std::int64_t cols) {
  std::vector<float> x;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < cols; ++c) x.push_back(std::ldexp(1.0f + static_cast<float>(c % 5), power_of(row)));
  return x;
}

/// The beginning of a message about a wrong value: the finding, if there is one, because it says where and why.
std::string finding_first(const Statistics& got) {
  return got.findings.empty() ? "" : LNH_SUBJECT " was watched while it ran:\n" + got.findings + "\n";
}

/// Which known mistake gives these statistics; a finding says more than any diagnosis.
std::string diagnosis(const Statistics& got, const std::vector<float>& x, std::int64_t cols, float eps) {
  if (!got.findings.empty()) return "";
  const testing::NormCase input{
      .name = "statistics", .rows = rows, .cols = cols, .x = x, .gamma = {}, .beta = {}, .eps = eps};
  const auto result = [](const Statistics& of) { return testing::NormResult{{}, of.mean, of.rstd}; };
  const auto again = [&](const testing::NormCase& other) {
    return result(statistics_of(other.x, other.cols, other.eps));
  };
  return "\n" + testing::text(testing::likely_mistakes(result(got), input, testing::block_per_row<256>(cols),
                                                       Norm::layer_norm, again));
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": mean and rstd of every row are right within the bound") {
  std::mt19937 bits(0x5eed);
  for (const std::int64_t cols : {1000, 256, 33, 2}) {
    CAPTURE(cols);
    std::vector<float> x;
    for (std::int64_t i = 0; i < rows * cols; ++i)
      x.push_back(static_cast<float>(i / cols) + static_cast<float>(bits() % 65536) / 65536.0f);
    const float eps = 0.25f;
    const Statistics got = statistics_of(x, cols, eps);
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum = 0, squares = 0;
      for (std::int64_t c = 0; c < cols; ++c) sum += x[row * cols + c];
      const double mean = sum / static_cast<double>(cols);
      for (std::int64_t c = 0; c < cols; ++c) squares += (x[row * cols + c] - mean) * (x[row * cols + c] - mean);
      const double variance = squares / static_cast<double>(cols), rstd = 1 / std::sqrt(variance + eps);
      // testing/tolerance.h, with T = 256 threads: D = ⌈cols/T⌉ + 8, and v = D·κ₀·u bounds the variance.
      const double u = 0x1p-24, depth = std::ceil(static_cast<double>(cols) / 256) + 8;
      const double v = depth * std::sqrt(1 + mean * mean / variance) * u;
      const double rstd_bound = (0.5 * v * variance / (variance + eps) + 4 * u) * rstd;
      const bool mean_is_right = std::abs(got.mean[row] - mean) <= (depth + 1) * u * mean;
      REQUIRE_MESSAGE(mean_is_right, finding_first(got)
                                         << LNH_SUBJECT " gives row " << row << " the mean " << got.mean[row]
                                         << ", expected " << mean << diagnosis(got, x, cols, eps));
      const bool rstd_is_right = std::abs(got.rstd[row] - rstd) <= rstd_bound;
      REQUIRE_MESSAGE(rstd_is_right, finding_first(got)
                                         << LNH_SUBJECT " gives row " << row << " the rstd " << got.rstd[row]
                                         << ", expected " << rstd << diagnosis(got, x, cols, eps));
    }
  }
}

TEST_CASE(LNH_SUBJECT ": rows that differ by powers of two have statistics that differ by them, to the last bit") {
  const std::int64_t cols = 160;
  const Statistics got = statistics_of(scaled_rows(cols), cols, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const int times = power_of(row) - power_of(0);
    const float mean = std::ldexp(got.mean[0], times), rstd = std::ldexp(got.rstd[0], -times);
    const bool mean_is_right = got.mean[row] == mean, rstd_is_right = got.rstd[row] == rstd;
    REQUIRE_MESSAGE(mean_is_right, finding_first(got)
                                       << LNH_SUBJECT " gives row " << row << " the mean " << got.mean[row]
                                       << "; by its power of two to row 0 it should be " << mean
                                       << ". Has another row's statistic got into one of the two?");
    REQUIRE_MESSAGE(rstd_is_right, finding_first(got)
                                       << LNH_SUBJECT " gives row " << row << " the rstd " << got.rstd[row]
                                       << "; by its power of two to row 0 it should be " << rstd
                                       << ". Has another row's statistic got into one of the two?");
  }
}

#ifdef LNH_CUDA

TEST_CASE(LNH_SUBJECT ": races are not looked for here") {
  MESSAGE("A GPU program does not see its own races: on the cuda backend this exercise checks values alone. The simt "
          "backend sees them, and so does compute-sanitizer --tool racecheck.");
}

#else

TEST_CASE(LNH_SUBJECT ": no value depends on which warp is faster") {
  for (const std::int64_t cols : {1000, 160, 2}) {
    const Statistics got = statistics_of(scaled_rows(cols), cols, 0);
    REQUIRE_MESSAGE(got.findings.empty(), LNH_SUBJECT " was watched while it ran on " << rows << " rows of " << cols
                                                                                      << " columns:\n"
                                                                                      << got.findings);
  }
}

TEST_CASE(LNH_SUBJECT ": a block takes two rows, one after the other") {
  const simt::CountScope counts;
  statistics_of(scaled_rows(160), 160, 0);
  CHECK_MESSAGE(counts.total().blocks == (rows + 1) / 2,
                LNH_SUBJECT " starts " << counts.total().blocks << " blocks for " << rows
                                       << " rows, where blocks of two "
                                          "rows are "
                                       << (rows + 1) / 2 << ": the race has to be mended, not the loop taken away");
}

#endif

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>
#include <testing/reference.h>

COMPARISON_TEST_CASE {  // the digits are those of rstd
  const testing::NormCase input = testing::compared_rows();
  const simt::CountScope counts;
  const std::vector<float> got = statistics_of(input.x, input.cols, input.eps).rstd;
  testing::print_comparison(
      {.name = testing::compared_rows_name,
       .got = got,
       .truth = testing::layer_norm_reference(input.x, {}, {}, input.rows, input.cols, input.eps).rstd,
       .counts = counts.total(),
       .floor = testing::floor_of({input.rows * input.cols}, {input.rows, input.rows})});
}

#endif
