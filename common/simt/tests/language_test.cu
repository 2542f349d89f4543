// The language that kernels are written in: what each operation gives, against the CUDA programming guide and the PTX
// manual.
#include "gate.h"

#include <device/dynamic_shared.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>

namespace {

__global__ void shuffles(const int* argument, int width, int* up, int* down, int* exclusive, int* index) {
  const int lane = threadIdx.x, a = argument[lane];
  up[lane] = __shfl_up_sync(0xffffffffu, lane, a, width);
  down[lane] = __shfl_down_sync(0xffffffffu, lane, a, width);
  exclusive[lane] = __shfl_xor_sync(0xffffffffu, lane, a, width);
  index[lane] = __shfl_sync(0xffffffffu, lane, a, width);
}

template <class T>
__global__ void shuffle_type(T* y) {
  const T value = static_cast<T>(threadIdx.x) / static_cast<T>(2);
  y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, value, 1);
}

__global__ void votes(unsigned* ballot, int* any, int* all) {
  const unsigned lane = threadIdx.x % 32;
  ballot[threadIdx.x] = __ballot_sync(0xffffffffu, lane % 3 == 0);
  any[threadIdx.x] = __any_sync(0xffffffffu, threadIdx.x == 40);
  all[threadIdx.x] = __all_sync(0xffffffffu, threadIdx.x < 32);
}

__global__ void active(unsigned* y) { y[threadIdx.x] = __activemask(); }

__global__ void indices(int* y) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  y[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = block * 1000 + thread;
}

__global__ void shared_is_per_block(int* y) {
  __shared__ int values[64];
  values[threadIdx.x] = static_cast<int>(blockIdx.x);
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = values[63 - threadIdx.x];
}

template <int N>
__global__ void shared_in_template(float* y) {
  __shared__ __align__(16) float values[N];
  values[threadIdx.x] = static_cast<float>(N);
  __syncthreads();
  y[threadIdx.x] = values[N - 1 - threadIdx.x];
}

__global__ void shared_poison(float* fixed, float* dynamic) {
  __shared__ float values[32];
  DYNAMIC_SHARED(float, more);
  fixed[blockIdx.x * 32 + threadIdx.x] = values[threadIdx.x];
  dynamic[blockIdx.x * 32 + threadIdx.x] = more[threadIdx.x];
  values[threadIdx.x] = more[threadIdx.x] = 1.0f;
}

__global__ void tree_sum(const float* x, float* y) {
  __shared__ float partial[256];
  const unsigned t = threadIdx.x;
  partial[t] = x[t];
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) partial[t] += partial[t + half];
  }
  if (t == 0) *y = partial[0];
}

__global__ void atomics(int* sum, unsigned* largest, unsigned* smallest, unsigned long long* wide, float* real,
                        double* exact, int* claimed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 50; ++k) atomicAdd(sum, i % 2);
  atomicMax(largest, static_cast<unsigned>(i));
  atomicMin(smallest, static_cast<unsigned>(i) + 5);
  atomicAdd(wide, 1ull << 33);
  atomicAdd(real, 0.5f);
  atomicAdd(exact, 0.25);
  atomicCAS(claimed, -1, 7);
}

__global__ void atomic_bits(unsigned* any, unsigned* common, int* last) {
  atomicOr(any, 1u << threadIdx.x);
  atomicAnd(common, ~(1u << threadIdx.x));
  atomicExch(last, 42);
}

__global__ void speaks() {
  if (threadIdx.x == 3) printf("thread %d of block %u: %.2f\n", static_cast<int>(threadIdx.x), blockIdx.x, 2.5);
}

__global__ void vectors(const float4* a, const float2* b, float4* y) {
  const float4 v = a[threadIdx.x];
  const float2 w = b[threadIdx.x];
  y[threadIdx.x] = make_float4(v.w, w.y, v.x + w.x, v.z);
}

__global__ void asserts(const int* limit) { assert(static_cast<int>(threadIdx.x) < *limit); }

template <class T>
std::vector<T> numbers(std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

}  // namespace

TEST_CASE("language: shuffles of every kind and width, as the PTX manual defines shfl.sync") {
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    for (const int argument : {0, 1, 2, 3, 7, 15, 16, 31}) {
      CAPTURE(width);
      CAPTURE(argument);
      const DeviceBuffer<int> a("a", std::vector<int>(32, argument)), up("up", 32), down("down", 32),
          exclusive("xor", 32), index("index", 32);
      const auto outcome =
          gate::run(shuffles, 1, 32, 0, a.data(), width, up.data(), down.data(), exclusive.data(), index.data());
      CHECK(outcome.text() == "");
      const auto up_values = up.download(), down_values = down.download(), xor_values = exclusive.download(),
                 index_values = index.download();
      for (int lane = 0; lane < 32; ++lane) {
        const int segment = lane / width * width;
        CHECK(up_values[lane] == (lane - argument >= segment ? lane - argument : lane));
        CHECK(down_values[lane] == (lane + argument < segment + width ? lane + argument : lane));
        CHECK(xor_values[lane] == ((lane ^ argument) < segment + width ? lane ^ argument : lane));
        CHECK(index_values[lane] == segment + argument % width);
      }
    }
  }
}

TEST_CASE_TEMPLATE("language: shuffles of 4 and 8 bytes", T, int, unsigned, float, std::int64_t, double) {
  const DeviceBuffer<T> y("y", 32);
  gate::run(shuffle_type<T>, 1, 32, 0, y.data());
  const auto values = y.download();
  for (int lane = 0; lane < 32; ++lane) CHECK(values[lane] == static_cast<T>(lane ^ 1) / static_cast<T>(2));
}

TEST_CASE("language: votes") {
  const DeviceBuffer<unsigned> ballot("ballot", 64);
  const DeviceBuffer<int> any("any", 64), all("all", 64);
  gate::run(votes, 1, 64, 0, ballot.data(), any.data(), all.data());
  unsigned thirds = 0;
  for (int lane = 0; lane < 32; lane += 3) thirds |= 1u << lane;
  CHECK(ballot.download() == std::vector<unsigned>(64, thirds));
  for (int i = 0; i < 64; ++i) {
    CHECK(any.download()[i] == (i >= 32));
    CHECK(all.download()[i] == (i < 32));
  }
}

TEST_CASE("language: the active mask of a warp that nothing has split") {
  const DeviceBuffer<unsigned> y("y", 40);
  gate::run(active, 1, 40, 0, y.data());
  CHECK(y.download()[0] == 0xffffffffu);
  CHECK(y.download()[32] == 0x000000ffu);
}

TEST_CASE("language: every index of a three-dimensional launch") {
  const dim3 grid(3, 2, 4), block(5, 3, 2);
  const DeviceBuffer<int> y("y", 24 * 30);
  gate::run(indices, grid, block, 0, y.data());
  const auto values = y.download();
  for (int b = 0; b < 24; ++b)
    for (int t = 0; t < 30; ++t) CHECK(values[b * 30 + t] == b * 1000 + t);
}

TEST_CASE("language: each block has its own shared memory, in templates too") {
  const DeviceBuffer<int> y("y", 64 * 50);
  gate::run(shared_is_per_block, 50, 64, 0, y.data());
  for (int i = 0; i < 64 * 50; ++i) REQUIRE(y.download(i, 1)[0] == i / 64);
  const DeviceBuffer<float> z("z", 128);
  gate::run(shared_in_template<64>, 1, 64, 0, z.data());
  CHECK(z.download(0, 64) == std::vector<float>(64, 64.0f));
  gate::run(shared_in_template<128>, 1, 128, 0, z.data());
  CHECK(z.download() == std::vector<float>(128, 128.0f));
}

TEST_CASE("language: shared memory starts as poison in every block") {
  const DeviceBuffer<float> fixed("fixed", 32 * 8), dynamic("dynamic", 32 * 8);
  gate::run(shared_poison, 8, 32, 32 * sizeof(float), fixed.data(), dynamic.data());
  for (const float value : fixed.download()) CHECK(std::isnan(value));
  for (const float value : dynamic.download()) CHECK(std::isnan(value));
}

TEST_CASE("language: a tree in shared memory adds up a block") {
  const DeviceBuffer<float> x("x", numbers<float>(256)), y("y", 1);
  gate::run(tree_sum, 1, 256, 0, x.data(), y.data());
  CHECK(y.download()[0] == 255 * 256 / 2);
}

TEST_CASE("language: atomics of many blocks lose nothing") {
  const DeviceBuffer<int> sum("sum", std::vector<int>{0}), claimed("claimed", std::vector<int>{-1});
  const DeviceBuffer<unsigned> largest("largest", std::vector<unsigned>{0}),
      smallest("smallest", std::vector<unsigned>{~0u});
  const DeviceBuffer<std::int64_t> wide("wide", std::vector<std::int64_t>{0});
  const DeviceBuffer<float> real("real", std::vector<float>{0});
  const DeviceBuffer<double> exact("exact", std::vector<double>{0});
  const int n = 100 * 96;
  const auto outcome =
      gate::run(atomics, 100, 96, 0, sum.data(), largest.data(), smallest.data(),
                reinterpret_cast<unsigned long long*>(wide.data()), real.data(), exact.data(), claimed.data());
  CHECK(outcome.text() == "");
  CHECK(sum.download()[0] == 50 * n / 2);
  CHECK(largest.download()[0] == n - 1);
  CHECK(smallest.download()[0] == 5);
  CHECK(wide.download()[0] == std::int64_t{n} << 33);
  CHECK(real.download()[0] == n / 2);
  CHECK(exact.download()[0] == n / 4);
  CHECK(claimed.download()[0] == 7);
}

TEST_CASE("language: atomics on bits, and the exchange") {
  const DeviceBuffer<unsigned> any("any", std::vector<unsigned>{0}), common("common", std::vector<unsigned>{~0u});
  const DeviceBuffer<int> last("last", std::vector<int>{0});
  CHECK(gate::run(atomic_bits, 4, 20, 0, any.data(), common.data(), last.data()).text() == "");
  CHECK(any.download()[0] == 0xfffffu);
  CHECK(common.download()[0] == ~0xfffffu);
  CHECK(last.download()[0] == 42);
}

TEST_CASE("language: printf in a kernel") {
  std::fflush(stdout);
  std::FILE* file = std::tmpfile();
  const int before = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  gate::run(speaks, 1, 32, 0);
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  std::rewind(file);
  char line[100] = "";
  REQUIRE(std::fgets(line, sizeof line, file) != nullptr);
  CHECK(std::string(line) == "thread 3 of block 0: 2.50\n");
  CHECK(std::fgets(line, sizeof line, file) == nullptr);
  std::fclose(file);
}

TEST_CASE("language: vector types") {
  const DeviceBuffer<float> a("a", numbers<float>(128)), b("b", numbers<float>(64)), y("y", 128);
  gate::run(vectors, 1, 32, 0, reinterpret_cast<const float4*>(a.data()), reinterpret_cast<const float2*>(b.data()),
            reinterpret_cast<float4*>(y.data()));
  const auto values = y.download();
  for (int i = 0; i < 32; ++i) {
    CHECK(values[4 * i] == 4 * i + 3);
    CHECK(values[4 * i + 1] == 2 * i + 1);
    CHECK(values[4 * i + 2] == 4 * i + 2 * i);
    CHECK(values[4 * i + 3] == 4 * i + 2);
  }
  CHECK(sizeof(float4) == 16);
  CHECK(alignof(float4) == 16);
  CHECK(alignof(uint2) == 8);
}

TEST_CASE("language: an assertion in a kernel is a finding") {
  const DeviceBuffer<int> limit("limit", std::vector<int>{35});
  const auto outcome = gate::run(asserts, 1, 64, 0, limit.data());
  REQUIRE(outcome.findings.size() == 1);
  CHECK(outcome.findings[0].check == "assert");
  CHECK(outcome.findings[0].thread == simt::Index{35, 0, 0});
  CHECK(outcome.findings[0].title.find("static_cast<int>(threadIdx.x) < *limit") != std::string::npos);
}

TEST_CASE("language: min, max, bits and rounding") {
  CHECK(min(3, -4) == -4);
  CHECK(max(3u, 4u) == 4u);
  CHECK(max(1.0f, std::numeric_limits<float>::quiet_NaN()) == 1.0f);  // as fmaxf: a NaN loses
  CHECK(__popc(0xf0f0u) == 8);
  CHECK(__ffs(0) == 0);
  CHECK(__ffs(8) == 4);
  CHECK(__clz(0) == 32);
  CHECK(__clz(1) == 31);
  CHECK(__float_as_uint(-2.0f) == 0xc0000000u);
  CHECK(rsqrtf(4.0f) == 0.5f);
  CHECK(std::isinf(rsqrtf(0.0f)));
  CHECK(__fmaf_rn(1 + 0x1p-12f, 1 + 0x1p-12f, -1.0f) == 0x1p-11f + 0x1p-24f);  // one rounding, not two
}

namespace {

// The nearest multiple of step to x, ties to even, in exact double arithmetic.
double nearest(double x, double step) { return std::nearbyint(x / step) * step; }

// x in a binary format with p significant bits and least exponent e (of its smallest normal number), by definition.
double in_format(double x, int p, int e, double largest) {
  if (x == 0) return x;
  const int exponent = std::max(std::ilogb(x), e);
  const double rounded = nearest(x, std::ldexp(1.0, exponent - p + 1));
  return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

// Floats around every boundary of a 16-bit format: each of its values, the middle to the next, and one ulp on either
// side.
template <class Narrow>
void for_each_boundary(Narrow narrow) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = narrow(bits), next = narrow(bits + 1);
    if (std::isnan(value) || std::isnan(next)) continue;
    const float middle = std::isinf(next) ? value : static_cast<float>((static_cast<double>(value) + next) / 2);
    for (const float x : {value, std::nextafterf(value, INFINITY), std::nextafterf(value, -INFINITY), middle,
                          std::nextafterf(middle, INFINITY), std::nextafterf(middle, -INFINITY)}) {
      INFO(x);
      REQUIRE_NOTHROW(narrow.check(x));
    }
  }
}

struct Half {
  float operator()(unsigned bits) const { return __half2float({static_cast<std::uint16_t>(bits)}); }
  void check(float x) const { REQUIRE(__half2float(__float2half(x)) == in_format(x, 11, -14, 65504)); }
};
struct Bfloat16 {
  float operator()(unsigned bits) const { return __bfloat162float({static_cast<std::uint16_t>(bits)}); }
  void check(float x) const { REQUIRE(__bfloat162float(__float2bfloat16(x)) == in_format(x, 8, -126, 0x1.fep127)); }
};

}  // namespace

TEST_CASE("language: 16-bit types hold every value and round to nearest, ties to even") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto h = static_cast<std::uint16_t>(bits);
    if (std::isnan(__half2float({h})))
      CHECK(__float2half(__half2float({h})).bits == 0x7fff);
    else
      REQUIRE(__float2half(__half2float({h})).bits == h);
    if (std::isnan(__bfloat162float({h})))
      CHECK(__float2bfloat16(__bfloat162float({h})).bits == 0x7fff);
    else
      REQUIRE(__float2bfloat16(__bfloat162float({h})).bits == h);
  }
  CHECK(__half2float({0x3c00}) == 1.0f);
  CHECK(__half2float({0x0001}) == 0x1p-24f);
  CHECK(__half2float({0x7bff}) == 65504.0f);
  CHECK(__bfloat162float({0x3f80}) == 1.0f);
  for_each_boundary(Half{});
  for_each_boundary(Bfloat16{});
}
