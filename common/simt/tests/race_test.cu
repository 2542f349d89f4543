// Planted races: each is found, with both places in the source; its correct twin is not. Values are right in most of
// them: the fixed order of lanes hides what is missing.
#include "gate.h"

#include <device/dynamic_shared.cuh>

namespace {

constexpr const char* this_file = "common/simt/tests/race_test.cu";

std::vector<float> ones(std::size_t count) { return std::vector<float>(count, 1.0f); }

void check_race(const gate::Outcome& outcome, const char* mark, const char* other_mark, const std::string& detail) {
  INFO(outcome.text());
  REQUIRE(!outcome.findings.empty());
  const int line = gate::line_of(this_file, mark);
  const std::string other = std::string(this_file) + ":" + std::to_string(gate::line_of(this_file, other_mark));
  bool found = false;
  for (const simt::Finding& finding : outcome.findings) {
    const bool expected = finding.check == "race" || finding.check == "init";  // who comes too early may find no value
    CHECK(expected);
    found |= finding.check == "race" && finding.line == line && finding.detail.find(other) != std::string::npos &&
             finding.detail.find(detail) != std::string::npos;
  }
  CHECK(found);
}

// A LayerNorm with one block per row; bit 0 and bit 1 of `barriers` say which of its two barriers it has.
template <int barriers>
__global__ void block_layer_norm(const float* x, float* y, int cols) {
  __shared__ float of_warp[8];
  __shared__ float total;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += x[c];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane == 0) of_warp[warp] = sum;  // here: store of the warp
  if (barriers & 1) __syncthreads();
  if (warp == 0) {
    float s = lane < 8 ? of_warp[lane] : 0.0f;  // here: load of the warps
    for (int offset = 16; offset > 0; offset /= 2) s += __shfl_xor_sync(0xffffffffu, s, offset);
    if (lane == 0) total = s;  // here: store of the total
  }
  if (barriers & 2) __syncthreads();
  const float mean = total / static_cast<float>(cols);  // here: load of the total
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = x[c] - mean;
}

template <bool barrier_in_loop>
__global__ void tree(const float* x, float* y) {
  __shared__ float partial[256];
  const unsigned t = threadIdx.x;
  partial[t] = x[t];
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half];  // here: tree
    if (barrier_in_loop) __syncthreads();
  }
  if (t == 0) *y = partial[0];
}

template <bool second_barrier>
__global__ void reuse(const float* x, float* y) {
  __shared__ float values[64];
  const int i = threadIdx.x;
  float sum = 0;
  for (int round = 0; round < 2; ++round) {
    values[i] = x[i] + round;  // here: reuse, store
    __syncthreads();
    sum += values[(i + 40) % 64];  // here: reuse, load
    if (second_barrier) __syncthreads();
  }
  y[i] = sum;
}

enum class Fence { none, shuffle, warp };
template <Fence fence>
__global__ void warp_exchange(float* y) {
  __shared__ float values[64];
  const int i = threadIdx.x, first = i / 32 * 32;
  values[i] = static_cast<float>(i);  // here: exchange, store
  float zero = 0;
  if (fence == Fence::shuffle) zero = __shfl_xor_sync(0xffffffffu, 0.0f, 1);
  if (fence == Fence::warp) __syncwarp();
  y[i] = values[first + (i + 1) % 32] + zero;  // here: exchange, load
}

// A __syncwarp() orders what came before it, not what comes after it.
__global__ void exchange_after_fence(float* y) {
  __shared__ float values[32];
  const int lane = threadIdx.x;
  __syncwarp();
  values[lane] = static_cast<float>(lane);  // here: after fence, store
  y[lane] = values[(lane + 1) % 32];        // here: after fence, load
}

// Two halves of a warp, each with a mask of its own; `across` lets a lane read from the other half.
template <bool across>
__global__ void partial_masks(float* y) {
  __shared__ float values[32];
  const int lane = threadIdx.x, half = lane / 16;
  values[lane] = static_cast<float>(lane);  // here: halves, store
  __syncwarp(half == 0 ? 0x0000ffffu : 0xffff0000u);
  const int from = across ? (lane + 16) % 32 : half * 16 + (lane + 1) % 16;
  y[lane] = values[from];  // here: halves, load
}

// What lane 0 wrote reaches lane 2 by way of lane 1, in two steps: order is handed on.
__global__ void handed_on(float* y) {
  __shared__ float value;
  const int lane = threadIdx.x;
  if (lane == 0) value = 5.0f;
  if (lane < 2) __syncwarp(0x3u);
  if (lane == 1 || lane == 2) __syncwarp(0x6u);
  if (lane == 2) *y = value;
}

// All warps read, then one warp reads again and writes: the barrier ends the reads of the others.
__global__ void read_by_all_then_updated_by_one(float* y) {
  __shared__ float value;
  if (threadIdx.x == 0) value = 1.0f;
  __syncthreads();
  y[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x == 0) value += 1.0f;
  __syncthreads();
  y[threadIdx.x] += value;
}

__global__ void all_write_the_same(float* y) {
  __shared__ float flag;
  flag = 1.0f;  // here: flag
  __syncthreads();
  y[threadIdx.x] = flag;
}

__global__ void neighbouring_bytes(unsigned char* y) {
  __shared__ unsigned char values[64];
  values[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  y[threadIdx.x] = values[threadIdx.x];
}

template <bool barrier>
__global__ void dynamic_exchange(float* y) {
  DYNAMIC_SHARED(float, values);
  const int i = threadIdx.x;
  values[i] = static_cast<float>(i);  // here: dynamic, store
  if (barrier) __syncthreads();
  y[i] = values[(i + 32) % 64];  // here: dynamic, load
}

__global__ void shared_atomics(int* y) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  __syncthreads();
  if (threadIdx.x == 0) *y = sum;
}

__global__ void atomic_and_plain(int* y) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);    // here: atomic
  y[threadIdx.x] = sum;  // here: plain
}

__global__ void blocks_write_one(float* y) {
  y[threadIdx.x] = 1.0f;  // here: blocks, store
}
__global__ void blocks_write_own(float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }

__global__ void blocks_shift(float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = y[i + 1];  // here: shift
}

__global__ void one_block_writes_the_others_read(float* y, float* z) {
  if (blockIdx.x == 0)
    y[threadIdx.x] = 1.0f;  // here: one block, store
  else
    z[blockIdx.x * blockDim.x + threadIdx.x] = y[threadIdx.x];  // here: other blocks, load
}

__global__ void blocks_in_place(float* y, int cols) {
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    float* element = y + blockIdx.x * cols + c;
    *element = *element * 2;
  }
}

__global__ void blocks_read_the_same(const float* x, float* y) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
}

__global__ void blocks_add(int* sum) { atomicAdd(sum, 1); }
__global__ void blocks_add_and_read(int* sum, int* y) {
  atomicAdd(sum, 1);                           // here: blocks, atomic
  if (threadIdx.x == 0) y[blockIdx.x] = *sum;  // here: blocks, plain
}

}  // namespace

TEST_CASE("race: the two barriers of a block-reduced LayerNorm") {
  const int cols = 300;
  const DeviceBuffer<float> x("x", ones(cols)), y("y", cols);
  CHECK(gate::run(block_layer_norm<3>, 1, 256, 0, x.data(), y.data(), cols).text() == "");
  check_race(gate::run(block_layer_norm<2>, 1, 256, 0, x.data(), y.data(), cols), "store of the warp",
             "load of the warps", "only __syncthreads() would order them");
  check_race(gate::run(block_layer_norm<1>, 1, 256, 0, x.data(), y.data(), cols), "load of the total",
             "store of the total", "writes it at");
}

TEST_CASE("race: a tree without the barrier between its steps") {
  const DeviceBuffer<float> x("x", ones(256)), y("y", 1);
  CHECK(gate::run(tree<true>, 1, 256, 0, x.data(), y.data()).text() == "");
  check_race(gate::run(tree<false>, 1, 256, 0, x.data(), y.data()), "tree", "tree", "writes it at");
}

TEST_CASE("race: a buffer is written again while others still read it") {
  const DeviceBuffer<float> x("x", ones(64)), y("y", 64);
  CHECK(gate::run(reuse<true>, 1, 64, 0, x.data(), y.data()).text() == "");
  check_race(gate::run(reuse<false>, 1, 64, 0, x.data(), y.data()), "reuse, store", "reuse, load", "reads it at");
}

TEST_CASE("race: lanes of a warp need __syncwarp, and a shuffle is none") {
  const DeviceBuffer<float> y("y", 64);
  CHECK(gate::run(warp_exchange<Fence::warp>, 1, 64, 0, y.data()).text() == "");
  check_race(gate::run(warp_exchange<Fence::none>, 1, 64, 0, y.data()), "exchange, load", "exchange, store",
             "lanes of one warp");
  check_race(gate::run(warp_exchange<Fence::shuffle>, 1, 64, 0, y.data()), "exchange, load", "exchange, store",
             "lanes of one warp");
}

TEST_CASE("race: a fence orders what came before it, not what comes after") {
  const DeviceBuffer<float> y("y", 32);
  check_race(gate::run(exchange_after_fence, 1, 32, 0, y.data()), "after fence, load", "after fence, store",
             "lanes of one warp");
}

TEST_CASE("race: a partial mask orders its lanes and no others") {
  const DeviceBuffer<float> y("y", 32);
  CHECK(gate::run(partial_masks<false>, 1, 32, 0, y.data()).text() == "");
  check_race(gate::run(partial_masks<true>, 1, 32, 0, y.data()), "halves, load", "halves, store", "lanes of one warp");
  CHECK(gate::run(handed_on, 1, 32, 0, y.data()).text() == "");
  CHECK(y.download(0, 1)[0] == 5.0f);
}

TEST_CASE("race: a barrier ends the reads before it") {
  const DeviceBuffer<float> y("y", 96);
  CHECK(gate::run(read_by_all_then_updated_by_one, 1, 96, 0, y.data()).text() == "");
  CHECK(y.download() == std::vector<float>(96, 3.0f));
}

TEST_CASE("race: two threads that write the same value still race") {
  const DeviceBuffer<float> y("y", 32);
  check_race(gate::run(all_write_the_same, 1, 32, 0, y.data()), "flag", "flag", "writes it at");
}

TEST_CASE("race: neighbouring bytes are different places") {
  const DeviceBuffer<unsigned char> y("y", 64);
  CHECK(gate::run(neighbouring_bytes, 1, 64, 0, y.data()).text() == "");
}

TEST_CASE("race: dynamic shared memory") {
  const DeviceBuffer<float> y("y", 64);
  CHECK(gate::run(dynamic_exchange<true>, 1, 64, 256, y.data()).text() == "");
  check_race(gate::run(dynamic_exchange<false>, 1, 64, 256, y.data()), "dynamic, store", "dynamic, load",
             "reads it at");
}

TEST_CASE("race: atomics are ordered with atomics and with nothing else") {
  const DeviceBuffer<int> y("y", 64);
  CHECK(gate::run(shared_atomics, 1, 64, 0, y.data()).text() == "");
  CHECK(y.download(0, 1)[0] == 64);
  const auto outcome = gate::run(atomic_and_plain, 1, 64, 0, y.data());
  check_race(outcome, "plain", "atomic", "updates it atomically at");
}

TEST_CASE("race: blocks of one launch, at one place of device memory") {
  const DeviceBuffer<float> y("y", ones(256));
  CHECK(gate::run(blocks_write_own, 4, 64, 0, y.data()).text() == "");
  check_race(gate::run(blocks_write_one, 2, 64, 0, y.data()), "blocks, store", "blocks, store",
             "nothing orders the blocks");
  const DeviceBuffer<float> z("z", ones(129));
  check_race(gate::run(blocks_shift, 2, 64, 0, z.data()), "shift", "shift", "nothing orders the blocks");
  CHECK(gate::run(blocks_shift, 1, 64, 0, z.data()).text() == "");      // a block by itself has no other to race with
  CHECK(gate::run(blocks_write_one, 1, 64, 0, y.data()).text() == "");  // and launches are ordered
}

TEST_CASE("race: a block reads what another block of the launch wrote") {
  const DeviceBuffer<float> y("y", ones(32)), z("z", 96);
  const unsigned before = simt::workers();
  simt::set_workers(1);  // so that the block that writes is the first
  const auto outcome = gate::run(one_block_writes_the_others_read, 3, 32, 0, y.data(), z.data());
  simt::set_workers(before);
  check_race(outcome, "other blocks, load", "one block, store", "block (0,0,0) writes it at");
}

TEST_CASE("race: blocks that share a sector, but no byte of it") {
  for (const int cols : {1, 2, 3, 5, 7, 9, 100}) {
    CAPTURE(cols);
    const DeviceBuffer<float> y("y", ones(40 * cols));
    CHECK(gate::run(blocks_in_place, 40, 32, 0, y.data(), cols).text() == "");
    CHECK(y.download() == std::vector<float>(40 * cols, 2.0f));
  }
}

TEST_CASE("race: blocks may read the same") {
  const DeviceBuffer<float> x("x", ones(64)), y("y", 64 * 20);
  CHECK(gate::run(blocks_read_the_same, 20, 64, 0, x.data(), y.data()).text() == "");
}

TEST_CASE("race: atomics between blocks") {
  const DeviceBuffer<int> sum("sum", std::vector<int>{0}), y("y", 8);
  CHECK(gate::run(blocks_add, 8, 32, 0, sum.data()).text() == "");
  CHECK(sum.download()[0] == 8 * 32);
  const auto outcome = gate::run(blocks_add_and_read, 8, 32, 0, sum.data(), y.data());
  INFO(outcome.text());
  REQUIRE(!outcome.findings.empty());
  for (const simt::Finding& finding : outcome.findings) CHECK(finding.check == "race");
}

TEST_CASE("race: the fixed order of lanes hides a missing barrier from the values; a seeded order shows it") {
  const DeviceBuffer<float> x("x", ones(256)), y("y", 1);
  bool wrong = false;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    simt::set_seed(seed);
    gate::run(tree<false>, 1, 256, 0, x.data(), y.data());
    wrong |= y.download()[0] != 256.0f;
    const std::vector<float> first = y.download();
    gate::run(tree<false>, 1, 256, 0, x.data(), y.data());
    CHECK(y.download() == first);  // the same seed, the same order
    gate::run(tree<true>, 1, 256, 0, x.data(), y.data());
    CHECK(y.download()[0] == 256.0f);
  }
  simt::set_seed(0);
  CHECK(wrong);
}

TEST_CASE("race: a check that is switched off finds nothing") {
  const DeviceBuffer<float> x("x", ones(256)), y("y", 1);
  simt::set_checks({.sync = true, .memory = true, .init = true, .race = false});
  const auto outcome = gate::run(tree<false>, 1, 256, 0, x.data(), y.data());
  simt::set_checks({});
  CHECK(outcome.text() == "");
}

TEST_CASE("race: a race is shown though reads of unwritten memory were met before it") {
  const auto finding = [](const std::string& check, int line) {
    simt::Finding made;
    made.check = check;
    made.title = check + " " + std::to_string(line);
    return made;
  };
  const std::string text =
      simt::text({finding("init", 1), finding("init", 2), finding("init", 3), finding("init", 4), finding("race", 5)});
  const auto at = [&](const char* title) { return text.find(title); };
  CHECK(at("init 1") < at("race 5"));
  CHECK(at("race 5") < at("init 2"));
  CHECK(at("init 3") == std::string::npos);
  CHECK(text.ends_with("and 2 more findings\n"));
}
