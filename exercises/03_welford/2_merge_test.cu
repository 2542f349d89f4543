// Exercise 03.2: Chan's merge, the state of two parts together.
#include <2_merge.cuh>

#include <host/device_buffer.h>
#include <testing/cases.h>
#include <testing/diagnosis_states.h>
#include <testing/random.h>
#include <testing/run.h>
#include <testing/subject.h>
#include <device/not_written_yet.cuh>

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

using exercise::Welford;
using testing::Data;
using testing::NormCase;

namespace {

constexpr double u = 0x1p-24;

/// n, mean and m2 of many states, each in an array of its own.
struct States {
  std::int64_t* n;
  float* mean;
  float* m2;
};

__global__ void merge_kernel(States a, States b, States both, int count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= static_cast<unsigned>(count)) return;
  const Welford merged = exercise::merge(Welford{a.n[i], a.mean[i], a.m2[i]}, Welford{b.n[i], b.mean[i], b.m2[i]});
  both.n[i] = merged.n;
  both.mean[i] = merged.mean;
  both.m2[i] = merged.m2;
}

/// The same in device memory.
struct Buffers {
  DeviceBuffer<std::int64_t> n;
  DeviceBuffer<float> mean, m2;

  Buffers(const std::string& name, std::int64_t count)
      : n(name + ".n", count), mean(name + ".mean", count), m2(name + ".m2", count) {}
  Buffers(const std::string& name, const std::vector<Welford>& states)
      : Buffers(name, static_cast<std::int64_t>(states.size())) {
    std::vector<std::int64_t> counts;
    std::vector<float> means, squares;
    for (const Welford& state : states) {
      counts.push_back(state.n);
      means.push_back(state.mean);
      squares.push_back(state.m2);
    }
    n.upload(counts);
    mean.upload(means);
    m2.upload(squares);
  }
  States pointers() const { return {n.data(), mean.data(), m2.data()}; }
};

struct Pair {
  Welford a, b;
};

/// What the subject makes of each pair.
std::vector<Welford> merged(const std::vector<Pair>& pairs) {
  std::vector<Welford> a, b;
  for (const Pair& pair : pairs) {
    a.push_back(pair.a);
    b.push_back(pair.b);
  }
  const Buffers left("a", a), right("b", b), both("both", static_cast<std::int64_t>(pairs.size()));
  const unsigned threads = 64;
  launch(merge_kernel, {blocks_for(both.n.size(), threads), threads}, left.pointers(), right.pointers(),
         both.pointers(), static_cast<int>(pairs.size()));
  const auto n = both.n.download();
  const auto mean = both.mean.download(), m2 = both.m2.download();
  std::vector<Welford> states(pairs.size());
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = {n[i], mean[i], m2[i]};
  return states;
}

void require_written() {
  static const bool written = !is_not_written_yet(merged({{{1, 1, 0}, {1, 2, 0}}})[0].mean);
  REQUIRE_MESSAGE(written, LNH_SUBJECT " is not written yet: merge returns what the stub returns");
}

std::string text(const Welford& state) {
  std::ostringstream words;
  words.precision(9);
  words << "(n " << state.n << ", mean " << state.mean << ", m2 " << state.m2 << ")";
  return words.str();
}

/// Which known mistake makes got of two parts, where mean and m2 are right.
std::string diagnosis(const Pair& pair, const Welford& got, double mean, double m2) {
  const auto& [a, b] = pair;
  std::vector<testing::Candidate> candidates =
      testing::mistaken_merges({static_cast<double>(a.n), a.mean, a.m2}, {static_cast<double>(b.n), b.mean, b.m2});
  // m2 as the difference of two sums of squares is off by their roundings; that shows where the means are large.
  const double squares = static_cast<double>(a.n) * a.mean * a.mean + static_cast<double>(b.n) * b.mean * b.mean;
  const bool m2_alone = got.n == a.n + b.n && std::abs(got.mean - mean) <= 1e-4 * std::abs(mean);
  const double cancelled = m2_alone && squares > 2 * m2 ? 8 * u * squares : 0;
  candidates.push_back({"one_pass_cancellation", {0, mean, m2}, cancelled});
  return testing::likely_mistake(candidates, {static_cast<double>(got.n - a.n - b.n), got.mean, got.m2}, {0, mean, m2});
}

std::string sentence(const Pair& pair, const Welford& got, const char* what, double expected) {
  std::ostringstream words;
  words.precision(9);
  words << LNH_SUBJECT " merges " << text(pair.a) << " and " << text(pair.b) << " to " << text(got) << "; expected "
        << what << " = " << expected;
  return words.str();
}

/// Neither part may be empty. The bounds: each operation of a merge rounds once, by u.
void check_merges(const std::vector<Pair>& pairs) {
  const std::vector<Welford> states = merged(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [a, b] = pairs[i];
    const double n = static_cast<double>(a.n) + static_cast<double>(b.n);
    const double delta = double{b.mean} - a.mean;
    const double mean = a.mean + delta * (static_cast<double>(b.n) / n);
    const double m2 = double{a.m2} + b.m2 + delta * delta * (static_cast<double>(a.n) * (static_cast<double>(b.n) / n));
    const Welford& got = states[i];
    const auto why = [&] { return diagnosis(pairs[i], got, mean, m2); };
    REQUIRE_MESSAGE(got.n == a.n + b.n, sentence(pairs[i], got, "n", n) << why());
    REQUIRE_MESSAGE(std::abs(got.mean - mean) <= 8 * u * (std::abs(mean) + std::abs(delta)),
                    sentence(pairs[i], got, "mean", mean) << why());
    REQUIRE_MESSAGE(std::abs(got.m2 - m2) <= 16 * u * m2, sentence(pairs[i], got, "m2", m2) << why());
  }
}

Welford random_state(testing::Random& random) {
  const auto n = static_cast<std::int64_t>(1 + random.bits() % 200);
  const auto mean = static_cast<float>(random.normal() * std::pow(10, random.uniform(-2, 4)));
  return {n, mean, n == 1 ? 0.0f : static_cast<float>(random.uniform(0, 100))};
}

void check_case(const NormCase& input) {
  const auto summation = testing::block_per_row<exercise::block_threads>;
  const auto verdict = testing::judge(exercise::layer_norm, input, summation(input.cols));
  REQUIRE_MESSAGE(verdict.passed(), LNH_SUBJECT " makes LayerNorm wrong on " << verdict.text());
}

}  // namespace

TEST_CASE(LNH_SUBJECT ": n, mean and m2 of two parts together are right") {
  require_written();
  // {3, 1} and {4, 1, 5, 9} by hand: means 2 and 4.75, m2 2 and 32.75; together n 6, mean 23/6, m2 44.8333.
  std::vector<Pair> pairs = {{{2, 2, 2}, {4, 4.75f, 32.75f}}};
  testing::Random random(1);
  for (int i = 0; i < 1000; ++i) pairs.push_back({random_state(random), random_state(random)});
  check_merges(pairs);
}

TEST_CASE(LNH_SUBJECT ": a part without values changes nothing, on either side") {
  require_written();
  testing::Random random(2);
  std::vector<Pair> pairs;
  std::vector<Welford> expected;
  const auto add = [&](const Welford& state) {
    pairs.push_back({state, Welford{}});
    pairs.push_back({Welford{}, state});
    expected.insert(expected.end(), 2, state);
  };
  add(Welford{});  // two empty lanes meet wherever a row is shorter than half the block
  for (int i = 0; i < 100; ++i) add(random_state(random));
  add({1, 1e30f, 0});  // the square of this mean is infinite, and ∞ · 0 is NaN
  const std::vector<Welford> states = merged(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Welford& got = states[i];
    REQUIRE_MESSAGE((got.n == expected[i].n && got.mean == expected[i].mean && got.m2 == expected[i].m2),
                    LNH_SUBJECT " merges " << text(pairs[i].a) << " and " << text(pairs[i].b) << " to " << text(got)
                                           << "; expected " << text(expected[i])
                                           << diagnosis(pairs[i], got, expected[i].mean, expected[i].m2));
  }
}

TEST_CASE(LNH_SUBJECT ": parts of equal means keep their mean, and m2 does not grow, to the last bit") {
  require_written();
  testing::Random random(3);
  std::vector<Pair> pairs;
  for (int i = 0; i < 1000; ++i) {
    const auto mean = static_cast<float>(random.uniform(-1000, 1000));
    const auto n = [&] { return static_cast<std::int64_t>(1 + random.bits() % 200); };
    pairs.push_back({{n(), mean, 0}, {n(), mean, 0}});
  }
  const std::vector<Welford> states = merged(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    REQUIRE_MESSAGE((states[i].mean == pairs[i].a.mean), sentence(pairs[i], states[i], "mean", pairs[i].a.mean));
    REQUIRE_MESSAGE((states[i].m2 == 0), sentence(pairs[i], states[i], "m2", 0));
  }
}

TEST_CASE(LNH_SUBJECT ": the count goes on where a float stays at 2^24, and beyond 32 bits") {
  require_written();
  const std::int64_t many = std::int64_t{1} << 24, more = std::int64_t{1} << 33;
  check_merges({{{many, 5, 1}, {1, 7, 0}}, {{1, 7, 0}, {many, 5, 1}}, {{more, 1, 1}, {more, 3, 1}}});
}

TEST_CASE(LNH_SUBJECT ": LayerNorm with this merge is right within the bound") {
  require_written();
  std::vector<NormCase> cases;
  std::uint64_t seed = 1;
  // Rows shorter than the block leave lanes without values.
  for (const std::int64_t cols : {1000, 257, 256, 255, 100, 3, 1}) {
    for (const Data data : testing::all_data()) cases.push_back(testing::make_case(3, cols, data, seed++));
  }
  const auto summation = testing::block_per_row<exercise::block_threads>;
  for (const NormCase& input : testing::judgeable(cases, summation).judged) check_case(input);
  for (const NormCase& input : testing::trap_cases()) check_case(input);
}

#ifndef LNH_CUDA  // ./learn compare: only the executor can count

#include <testing/comparison.h>

COMPARISON_TEST_CASE { testing::print_comparison(testing::norm_workload(exercise::layer_norm)); }

#endif
