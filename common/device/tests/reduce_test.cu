// Reductions over warps and blocks: exact on whole numbers for every shape of block, in the order of the lanes, and
// with lanes that hold nothing.
#include <host/device_buffer.h>
#include <host/launch.h>
#include <device/reduce.cuh>
#include <device/welford.cuh>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#ifndef LNH_CUDA
#include <simt/counts.h>
#include <simt/finding.h>
#endif

namespace {

/// Sums of whole numbers: every order gives the same, so equality is the right question. Each word is another sum, so
/// that a word that is lost, or taken for another, shows.
template <int words>
struct Sums {
  int of[words];
  bool operator==(const Sums&) const = default;
};

template <int words>
__host__ __device__ Sums<words> merge(Sums<words> a, const Sums<words>& b) {
  for (int i = 0; i < words; ++i) a.of[i] += b.of[i];
  return a;
}

/// The whole numbers first, first + 1, … , count of them. Two such runs make one only if the second follows the first:
/// a merge that is associative and not commutative.
struct Run {
  int first;
  int count;  // 0: nothing yet; broken: the order was another one
  static constexpr int broken = -1;
  bool operator==(const Run&) const = default;
};

__host__ __device__ Run merge(const Run& a, const Run& b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  if (a.count == Run::broken || b.count == Run::broken || a.first + a.count != b.first) return {0, Run::broken};
  return {a.first, a.count + b.count};
}

static_assert(sizeof(Sums<1>) == 4 && sizeof(Run) == 8 && sizeof(Sums<3>) == 12);
static_assert(sizeof(Welford) == 16 && sizeof(Sums<4>) == 16 && sizeof(Sums<6>) == 24);

/// results[w] is the state of warp w.
template <class State>
__global__ void warp_kernel(const State* states, State* results) {
  const State result = warp_reduce(states[threadIdx.x]);
  if (threadIdx.x % warp_lanes == 0) results[threadIdx.x / warp_lanes] = result;
}

/// The first `lanes` lanes hold a state, the others none.
__global__ void first_lanes_kernel(const Run* states, Run* result, int lanes) {
  const int lane = static_cast<int>(threadIdx.x);
  const Run state = warp_reduce(lane < lanes ? states[lane] : Run{}, lanes);
  if (lane == 0) *result = state;
}

/// results[y][x] is what thread (x, y) was given.
template <class State>
__global__ void block_kernel(const State* states, State* results) {
  __shared__ State partial[32];
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  results[thread] = block_reduce(states[thread], partial);
}

/// Runs kernel in one block on these states and gives back as many results. A DeviceBuffer holds words, not structs.
template <class State>
std::vector<State> results_of(void (*kernel)(const State*, State*), dim3 block, const std::vector<State>& states,
                              std::size_t results) {
  std::vector<unsigned> words(states.size() * sizeof(State) / sizeof(unsigned));
  std::memcpy(words.data(), states.data(), states.size() * sizeof(State));
  const DeviceBuffer<unsigned> in("states", words);
  const DeviceBuffer<unsigned> out("results", static_cast<std::int64_t>(results * sizeof(State) / sizeof(unsigned)));
  launch(kernel, {1, block}, reinterpret_cast<const State*>(in.data()), reinterpret_cast<State*>(out.data()));
  std::vector<State> downloaded(results);
  std::memcpy(downloaded.data(), out.download().data(), results * sizeof(State));
  return downloaded;
}

template <class State>
std::vector<State> by_warps(const std::vector<State>& states) {
  return results_of(warp_kernel<State>, static_cast<unsigned>(states.size()), states, states.size() / warp_lanes);
}

template <class State>
std::vector<State> by_block(const std::vector<State>& states, unsigned threads_x, unsigned threads_y) {
  return results_of(block_kernel<State>, dim3(threads_x, threads_y), states, states.size());
}

/// Every block of full warps: one row of 1 to 32 warps, then two dimensions.
struct Block {
  unsigned warps_x, rows;  // warps in a row of threads; rows of threads
};
std::vector<Block> all_blocks() {
  std::vector<Block> blocks;
  for (unsigned rows = 1; rows <= 32; ++rows)
    for (unsigned warps = 1; warps * rows <= 32; ++warps) blocks.push_back({warps, rows});
  return blocks;
}

template <class State>
State merged(const State* first, unsigned count) {
  State state{};
  for (unsigned i = 0; i < count; ++i) state = merge(state, first[i]);
  return state;
}

/// Each thread must get the state of its row of threads, in every shape of block.
template <class State>
void check_blocks(const std::vector<State>& states) {
  for (const Block block : all_blocks()) {
    CAPTURE(block.warps_x);
    CAPTURE(block.rows);
    const unsigned threads_x = block.warps_x * warp_lanes;
    const std::vector<State> given(states.begin(), states.begin() + threads_x * block.rows);
    const std::vector<State> results = by_block(given, threads_x, block.rows);
    for (unsigned y = 0; y < block.rows; ++y) {
      const State expected = merged(&given[y * threads_x], threads_x);
      for (unsigned x = 0; x < threads_x; ++x) {
        CAPTURE(x);
        CAPTURE(y);
        REQUIRE(results[y * threads_x + x] == expected);
      }
    }
  }
}

template <class State>
void check_warps(const std::vector<State>& states) {
  for (unsigned warps = 1; warps <= 32; ++warps) {
    CAPTURE(warps);
    const std::vector<State> given(states.begin(), states.begin() + warps * warp_lanes);
    const std::vector<State> results = by_warps(given);
    for (unsigned warp = 0; warp < warps; ++warp) {
      CAPTURE(warp);
      REQUIRE(results[warp] == merged(&given[warp * warp_lanes], warp_lanes));
    }
  }
}

constexpr int most_threads = 1024;

template <int words>
std::vector<Sums<words>> whole_numbers() {
  std::mt19937 bits(0x5eed + words);
  std::vector<Sums<words>> states(most_threads);
  for (Sums<words>& state : states)
    for (int& sum : state.of) sum = static_cast<int>(bits() % 2001) - 1000;
  return states;
}

/// Thread i holds the number i.
std::vector<Run> consecutive() {
  std::vector<Run> states;
  for (int i = 0; i < most_threads; ++i) states.push_back({i, 1});
  return states;
}

}  // namespace

TEST_CASE_TEMPLATE("a warp's sums are exact, for states of 4, 8, 12, 16 and 24 bytes", State, Sums<1>, Sums<2>, Sums<3>,
                   Sums<4>, Sums<6>) {
  check_warps(whole_numbers<sizeof(State) / sizeof(int)>());
}

TEST_CASE_TEMPLATE("a block's sums are exact for every thread, in every shape, for states of 4 to 24 bytes", State,
                   Sums<1>, Sums<2>, Sums<3>, Sums<4>, Sums<6>) {
  check_blocks(whole_numbers<sizeof(State) / sizeof(int)>());
}

TEST_CASE("the judge of order convicts another order") {
  CHECK(merge(Run{0, 2}, Run{2, 3}) == Run{0, 5});
  CHECK(merge(Run{2, 3}, Run{0, 2}).count == Run::broken);
  CHECK(merge(Run{0, 1}, Run{16, 1}).count == Run::broken);
}

TEST_CASE("states are merged in the order of the lanes and warps") {
  check_warps(consecutive());
  check_blocks(consecutive());
}

TEST_CASE("a warp of which only the first lanes hold a state is reduced in fewer steps") {
  const std::vector<int> words = [] {
    std::vector<int> of_runs;
    for (int i = 0; i < warp_lanes; ++i) of_runs.insert(of_runs.end(), {i, 1});
    return of_runs;
  }();
  const DeviceBuffer<int> states("states", words), result("result", 2);
  for (int lanes = 1; lanes <= warp_lanes; ++lanes) {
    CAPTURE(lanes);
#ifndef LNH_CUDA
    simt::CountScope counts;
#endif
    launch(first_lanes_kernel, {1, warp_lanes}, reinterpret_cast<const Run*>(states.data()),
           reinterpret_cast<Run*>(result.data()), lanes);
    CHECK(result.download() == std::vector<int>{0, lanes});
#ifndef LNH_CUDA
    const int steps = static_cast<int>(std::ceil(std::log2(lanes)));
    CHECK(counts.total().shuffles == steps * sizeof(Run) / sizeof(unsigned));
#endif
  }
}

TEST_CASE("lanes that hold nothing add nothing, wherever they are") {
  // Each with the threads that hold a value: the first ones, the last one, every third, one in each warp, none.
  const std::vector<bool (*)(int thread)> patterns = {
      [](int thread) { return thread == 0; },      [](int thread) { return thread < 5; },
      [](int thread) { return thread < 31; },      [](int thread) { return thread < 33; },
      [](int thread) { return thread == 31; },     [](int thread) { return thread % 3 == 2; },
      [](int thread) { return thread % 32 == 7; }, [](int) { return false; }};
  for (std::size_t pattern = 0; pattern < patterns.size(); ++pattern) {
    for (unsigned warps = 1; warps <= 32; ++warps) {
      CAPTURE(pattern);
      CAPTURE(warps);
      std::vector<Welford> states(warps * warp_lanes, Welford{});
      std::int64_t n = 0;
      for (unsigned i = 0; i < states.size(); ++i) {
        if (!patterns[pattern](static_cast<int>(i))) continue;
        // All values are equal, so the mean is exactly that value and m2 exactly 0, in every order. Of other lanes the
        // mean is 0, as Welford{} has it.
        states[i] = update(Welford{}, 1449.3f);
        ++n;
      }
      for (const Welford& result : by_block(states, warps * warp_lanes, 1)) {
        REQUIRE(result.n == n);
        REQUIRE(result.mean == (n == 0 ? 0.0f : 1449.3f));
        REQUIRE(result.m2 == 0.0f);
      }
    }
  }
}

TEST_CASE("every thread gets the same bits of mean and variance, and they are within their bound") {
  std::mt19937 bits(0x5eed);
  for (unsigned warps = 1; warps <= 32; ++warps) {
    CAPTURE(warps);
    const unsigned threads = warps * warp_lanes;
    std::vector<Welford> states;
    double sum = 0, squares = 0;
    std::vector<float> values;
    for (unsigned i = 0; i < threads; ++i) {
      values.push_back(100.0f + static_cast<float>(bits() % 65536) / 65536.0f);
      states.push_back(update(Welford{}, values.back()));
      sum += values.back();
    }
    const double mean = sum / threads;
    for (const float value : values) squares += (value - mean) * (value - mean);

    const std::vector<Welford> results = by_block(states, threads, 1);
    for (const Welford& result : results) REQUIRE(std::memcmp(&result, &results[0], sizeof(Welford)) == 0);
    // testing/tolerance.h: D = m + ⌈log₂T⌉ with one value a thread; u = 2⁻²⁴, κ = √(1 + mean²/variance).
    const double u = 0x1p-24, depth = 1 + std::ceil(std::log2(threads));
    const double kappa = std::sqrt(1 + mean * mean / (squares / threads));
    CHECK(results[0].n == threads);
    CHECK(std::abs(results[0].mean - mean) <= (depth + 1) * u * mean);
    CHECK(std::abs(results[0].m2 - squares) <= depth * kappa * u * squares);
  }
}

#ifndef LNH_CUDA  // counts and findings are the executor's

namespace {

/// Two reductions with one array, and nothing between them.
__global__ void twice_kernel(const Run* states, Run* results) {
  __shared__ Run partial[32];
  block_reduce(states[threadIdx.x], partial);
  results[threadIdx.x] = block_reduce(states[threadIdx.x], partial);
}

}  // namespace

TEST_CASE("a second reduction with the same array is a race, as the header says") {
  const std::vector<Run> states = consecutive();
  const simt::FindingScope findings;
  results_of(twice_kernel, 64, {states.begin(), states.begin() + 64}, 64);
  REQUIRE(!findings.findings().empty());
  CHECK(findings.findings()[0].check == "race");
}

TEST_CASE("a block costs two barriers, or none if it is a warp") {
  const auto barriers = [](unsigned warps, unsigned rows) {
    simt::CountScope counts;
    by_block(std::vector<Sums<1>>(warps * rows * warp_lanes), warps * warp_lanes, rows);
    return counts.total().barriers;
  };
  for (const Block block : all_blocks()) {
    CAPTURE(block.warps_x);
    CAPTURE(block.rows);
    CHECK(barriers(block.warps_x, block.rows) == (block.warps_x == 1 ? 0 : 2));
  }
}

#endif
