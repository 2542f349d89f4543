// Welford's update and Chan's merge keep their promises on random states and rows, on the host and on the device.
#include <host/device_buffer.h>
#include <host/launch.h>
#include <testing/cases.h>
#include <testing/random.h>
#include <testing/reference.h>
#include <device/welford.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

using testing::Random;

namespace {

constexpr double u = 0x1p-24;
constexpr int trials = 10000;

// ---- rows and states ------------------------------------------------------------------------------------------------

std::int64_t whole(Random& random, std::int64_t low, std::int64_t high) {  // in [low, high]
  return low + static_cast<std::int64_t>(random.bits() % static_cast<std::uint64_t>(high - low + 1));
}

float any_finite_float(Random& random) {
  for (;;) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    if (std::isfinite(value)) return value;
  }
}

/// 1 to 200 values with σ = 1 and a mean of 0, or up to 10⁵ in size.
std::vector<float> random_row(Random& random) {
  const double offset = whole(random, 0, 3) == 0 ? 0 : std::pow(10, random.uniform(-2, 5));
  std::vector<float> row(static_cast<std::size_t>(whole(random, 1, 200)));
  for (float& x : row) x = static_cast<float>(offset + random.normal());
  return row;
}

/// Values that are neighbours: base, and up to 3 ulp beside it.
std::vector<float> neighbours(Random& random) {
  const float base = static_cast<float>(random.uniform(-2, 2) * std::pow(10, random.uniform(-10, 10)));
  std::vector<float> row(static_cast<std::size_t>(whole(random, 1, 40)), base);
  for (float& x : row) {
    for (std::int64_t steps = whole(random, 0, 3); steps > 0; --steps) x = std::nextafter(x, 1e30f);
  }
  return row;
}

Welford state_of(std::span<const float> row) {
  Welford state{};
  for (const float x : row) state = update(state, x);
  return state;
}

/// A state as rows give it, of up to 200 values or of billions, with means close together or far apart.
Welford random_state(Random& random) {
  const std::int64_t n = whole(random, 0, 1) ? whole(random, 1, 200) : whole(random, 1, std::int64_t{1} << 40);
  const double mean = random.normal() * std::pow(10, random.uniform(-3, 5));
  const double variance = std::pow(10, random.uniform(-6, 6));
  return {n, static_cast<float>(mean), n == 1 ? 0.0f : static_cast<float>(variance * static_cast<double>(n))};
}

/// A state, and the longest chain of updates and merges that led to it.
struct Merged {
  Welford state;
  std::int64_t depth;
};

/// Deals the row out to up to 16 parts, some of them perhaps empty, and merges the parts in a random tree.
Merged split_and_merge(std::span<const float> row, Random& random) {
  std::vector<Merged> parts(static_cast<std::size_t>(whole(random, 1, 16)));
  for (const float x : row) {
    Merged& part = parts[random.bits() % parts.size()];
    part = {update(part.state, x), part.depth + 1};
  }
  while (parts.size() > 1) {
    const std::size_t i = random.bits() % parts.size();
    const Merged a = parts[i];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
    Merged& b = parts[random.bits() % parts.size()];
    b = {merge(a.state, b.state), std::max(a.depth, b.depth) + 1};
  }
  return parts[0];
}

// ---- what is expected -----------------------------------------------------------------------------------------------

/// A state in double: 29 bits more, so beside a float its own rounding does not count.
struct Exact {
  double n, mean, m2;
};

Exact exact(const Welford& state) { return {static_cast<double>(state.n), state.mean, state.m2}; }

/// Two states together, from the definitions: the mean weighted by the counts, and each part's squares about it.
Exact together(const Exact& a, const Exact& b) {
  const double n = a.n + b.n;
  const double delta = b.mean - a.mean;
  return {n, a.mean + delta * (b.n / n), a.m2 + b.m2 + delta * delta * (a.n * b.n / n)};
}

// How far one merge may be from the exact merge of the same two states. With each operation within u: delta once,
// share three times (two counts and a division), their product once, relative to the step; the sum once, relative to
// the mean. In m2 delta² counts 3, share 3, the count and two products 3, two sums 2. One more for what is of order u².
double mean_bound(const Exact& a, const Exact& b) {
  return u * std::abs(together(a, b).mean) + 6 * u * std::abs(b.mean - a.mean);
}
constexpr double m2_bound = 12 * u;  // relative: no term is negative, so nothing cancels

bool same(const Welford& a, const Welford& b) {
  return a.n == b.n && std::bit_cast<std::uint32_t>(a.mean) == std::bit_cast<std::uint32_t>(b.mean) &&
         std::bit_cast<std::uint32_t>(a.m2) == std::bit_cast<std::uint32_t>(b.m2);
}

/// The largest error/bound so far; infinity once there was a NaN.
struct Worst {
  double ratio = 0;
  void see(double error, double bound) {
    const double next = bound == 0 && error == 0 ? 0 : error / bound;
    ratio = next >= 0 ? std::max(ratio, next) : std::numeric_limits<double>::infinity();
  }
};

/// The variance's relative error as a share of D·κ·u, for a row that is not constant.
double error_over_bound(double variance, std::span<const float> row, std::int64_t depth) {
  const testing::Moments truth = testing::moments(row);
  const double kappa = std::sqrt(1 + truth.mean * truth.mean / truth.variance);
  return std::abs(variance / truth.variance - 1) / (static_cast<double>(depth) * kappa * u);
}

bool constant(std::span<const float> row) {
  return std::all_of(row.begin(), row.end(), [&](float x) { return x == row[0]; });
}

}  // namespace

// ---- the monoid -----------------------------------------------------------------------------------------------------

TEST_CASE("the empty state is the identity of merge, on both sides and to the last bit") {
  Random random(1);
  int different = 0;
  for (int i = 0; i < trials; ++i) {
    // Means of any size: beside 10³⁸ the square of a difference would overflow, and ∞ · 0 would be NaN.
    const Welford state{whole(random, 1, std::int64_t{1} << 40), any_finite_float(random),
                        std::abs(any_finite_float(random))};
    different += !same(merge(state, Welford{}), state) + !same(merge(Welford{}, state), state);
  }
  CHECK(different == 0);
  CHECK(same(merge(Welford{}, Welford{}), Welford{}));
}

TEST_CASE("without its guard, merge would divide 0 by 0, and a huge mean would meet 0 · ∞") {
  const auto unguarded = [](const Welford& a, const Welford& b) {
    const float share = static_cast<float>(b.n) / static_cast<float>(a.n + b.n);
    const float delta = b.mean - a.mean;
    return Welford{a.n + b.n, a.mean + delta * share, a.m2 + b.m2 + delta * delta * static_cast<float>(a.n) * share};
  };
  CHECK(std::isnan(unguarded(Welford{}, Welford{}).mean));
  CHECK(std::isnan(unguarded({1, 1e30f, 0}, Welford{}).m2));
}

TEST_CASE("merge is within the rounding of its own operations of the exact merge") {
  Random random(2);
  Worst mean, m2;
  for (int i = 0; i < trials; ++i) {
    const Welford a = random_state(random), b = random_state(random);
    const Exact expected = together(exact(a), exact(b));
    const Welford got = merge(a, b);
    REQUIRE(got.n == a.n + b.n);
    mean.see(std::abs(got.mean - expected.mean), mean_bound(exact(a), exact(b)));
    m2.see(std::abs(got.m2 - expected.m2), m2_bound * expected.m2);
  }
  MESSAGE("error/bound at most " << mean.ratio << " for the mean, " << m2.ratio << " for m2");
  CHECK(mean.ratio <= 1);
  CHECK(m2.ratio <= 1);
}

TEST_CASE("merge is symmetric within twice that") {
  Random random(3);
  Worst mean, m2;
  for (int i = 0; i < trials; ++i) {
    const Welford a = random_state(random), b = random_state(random);
    const Welford ab = merge(a, b), ba = merge(b, a);
    REQUIRE(ab.n == ba.n);
    mean.see(std::abs(double{ab.mean} - ba.mean), 2 * mean_bound(exact(a), exact(b)));
    m2.see(std::abs(double{ab.m2} - ba.m2), 2 * m2_bound * together(exact(a), exact(b)).m2);
  }
  MESSAGE("difference/bound at most " << mean.ratio << " for the mean, " << m2.ratio << " for m2");
  CHECK(mean.ratio <= 1);
  CHECK(m2.ratio <= 1);
}

TEST_CASE("merge is associative within the bound: (a b) c and a (b c) are both near the state of all three") {
  Random random(4);
  Worst mean, m2;
  // The first merge rounds the mean by e. The second hands e on with a weight below 1, and squares a difference that is
  // off by e.
  const auto see = [&](const Welford& got, const Exact& inner_a, const Exact& inner_b, const Exact& outer) {
    const Exact inner = together(inner_a, inner_b);
    const Exact all = together(inner, outer);
    const double e = mean_bound(inner_a, inner_b);
    const double weight = inner.n * outer.n / all.n;
    const double delta = std::abs(outer.mean - inner.mean);
    mean.see(std::abs(got.mean - all.mean), mean_bound(inner, outer) + e * (1 + 8 * u));
    m2.see(std::abs(got.m2 - all.m2), 2 * m2_bound * all.m2 + (1 + 16 * u) * weight * (2 * delta * e + e * e));
  };
  for (int i = 0; i < trials; ++i) {
    const Welford a = random_state(random), b = random_state(random), c = random_state(random);
    const Welford left = merge(merge(a, b), c), right = merge(a, merge(b, c));
    REQUIRE(left.n == right.n);
    see(left, exact(a), exact(b), exact(c));
    see(right, exact(b), exact(c), exact(a));
  }
  MESSAGE("error/bound at most " << mean.ratio << " for the mean, " << m2.ratio << " for m2");
  CHECK(mean.ratio <= 1);
  CHECK(m2.ratio <= 1);
}

TEST_CASE("an update is a merge with the state of one value, within the bounds of both") {
  Random random(5);
  Worst mean, m2;
  for (int i = 0; i < trials; ++i) {
    const Welford state = random_state(random);
    const Welford one{1, static_cast<float>(state.mean + random.normal()), 0};
    const Exact expected = together(exact(state), exact(one));
    const Welford got = update(state, one.mean);
    REQUIRE(got.n == state.n + 1);
    // x − (new mean) is off by as much as the new mean is, and delta stands beside it as a factor.
    const double e = mean_bound(exact(state), exact(one));
    mean.see(std::abs(got.mean - expected.mean), e);
    m2.see(std::abs(got.m2 - expected.m2), m2_bound * expected.m2 + 2 * e * std::abs(double{one.mean} - state.mean));
  }
  CHECK(mean.ratio <= 1);
  CHECK(m2.ratio <= 1);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

TEST_CASE("any split of a row into parts, merged in any tree, gives the reference's variance within D·κ·u") {
  Random random(6);
  double serial = 0, split = 0;
  for (int i = 0; i < trials; ++i) {
    const std::vector<float> row = random_row(random);
    const Merged merged = split_and_merge(row, random);
    REQUIRE(merged.state.n == static_cast<std::int64_t>(row.size()));
    if (constant(row)) continue;
    serial = std::max(serial, error_over_bound(variance(state_of(row)), row, static_cast<std::int64_t>(row.size())));
    const double ratio = error_over_bound(variance(merged.state), row, merged.depth);
    REQUIRE(ratio >= 0);  // no NaN
    split = std::max(split, ratio);
  }
  MESSAGE("error/bound at most " << serial << " in one chain, " << split << " in parts");
  CHECK(serial <= 1);
  CHECK(split <= 1);
}

TEST_CASE("the rows that convict a cancelling variance, and the rows that failed in public projects, are right") {
  std::vector<testing::NormCase> cases = testing::trap_cases();
  const std::vector<testing::NormCase> published = testing::published_cases();
  cases.insert(cases.end(), published.begin(), published.end());
  Random random(7);
  double largest = 0;
  for (const testing::NormCase& input : cases) {
    CAPTURE(input.name);
    const auto cols = static_cast<std::size_t>(input.cols);
    for (std::size_t r = 0; r < static_cast<std::size_t>(input.rows); ++r) {
      const std::span<const float> row = std::span(input.x).subspan(r * cols, cols);
      const Merged chain{state_of(row), input.cols};
      for (const Merged& merged : {chain, split_and_merge(row, random), split_and_merge(row, random)}) {
        if (constant(row)) {
          CHECK(merged.state.m2 == 0);
          continue;
        }
        const double ratio = error_over_bound(variance(merged.state), row, merged.depth);
        CHECK(ratio <= 1);
        largest = std::max(largest, ratio);
      }
    }
  }
  MESSAGE("error/bound at most " << largest);
}

TEST_CASE("a constant row has variance 0 and its own mean, exactly, for every constant and every split") {
  Random random(8);
  int wrong = 0;
  const auto see = [&](float constant) {
    const std::vector<float> row(static_cast<std::size_t>(whole(random, 1, 60)), constant);
    for (const Welford& state : {state_of(row), split_and_merge(row, random).state}) {
      wrong += !(state.m2 == 0 && variance(state) == 0 && state.mean == constant);
    }
  };
  for (int i = 0; i < trials; ++i) see(any_finite_float(random));
  for (const float special : {0.0f, -0.0f, 0x1p-149f, std::numeric_limits<float>::max(), 255.0f, 0.1f}) see(special);
  CHECK(wrong == 0);
}

TEST_CASE("the mean weighted by counts, (n_a·mean_a + n_b·mean_b) ÷ n, does not keep a constant row constant") {
  Random random(9);
  int moved = 0;
  for (int i = 0; i < trials; ++i) {
    const auto mean = static_cast<float>(random.uniform(1, 2));
    const auto a = static_cast<float>(whole(random, 1, 200)), b = static_cast<float>(whole(random, 1, 200));
    moved += (a * mean + b * mean) / (a + b) != mean;
  }
  MESSAGE("it moved the mean in " << moved << " of " << trials << " merges of equal means");
  CHECK(moved > trials / 10);
}

TEST_CASE("the variance is never negative, and never NaN while squares of differences do not overflow") {
  Random random(10);
  int wrong = 0;
  const auto see = [&](std::span<const float> row) {
    for (const Welford& state : {state_of(row), split_and_merge(row, random).state}) {
      wrong += !(state.m2 >= 0 && variance(state) >= 0 && std::isfinite(state.mean));
    }
  };
  for (int i = 0; i < trials; ++i) {
    see(random_row(random));
    see(neighbours(random));
    // Bit patterns: every exponent up to 10¹⁸, denormals as well.
    std::vector<float> row(static_cast<std::size_t>(whole(random, 1, 40)));
    for (float& x : row) {
      do x = any_finite_float(random);
      while (std::abs(x) > 1e18f);
    }
    see(row);
  }
  CHECK(wrong == 0);
}

TEST_CASE("x − (new mean) never has the sign opposite to x − (old mean): why no update takes from m2") {
  Random random(11);
  int wrong = 0;
  for (int i = 0; i < 10 * trials; ++i) {
    const std::vector<float> pair = neighbours(random);
    const Welford state{whole(random, 0, 1) ? whole(random, 1, 5) : whole(random, 1, std::int64_t{1} << 40),
                        pair.front(), 0};
    wrong += !(update(state, pair.back()).m2 >= 0) + !(update(state, any_finite_float(random) / 0x1p64f).m2 >= 0);
  }
  CHECK(wrong == 0);
}

// ---- counts ---------------------------------------------------------------------------------------------------------

TEST_CASE("the count does not stick at 2²⁴, as a float's would") {
  constexpr std::int64_t many = std::int64_t{1} << 24;
  REQUIRE(static_cast<float>(many) + 1.0f == static_cast<float>(many));

  SUBCASE("in a merge with one more value") {
    CHECK(merge({many, 5, 1}, {1, 5, 0}).n == many + 1);
    CHECK(merge({1, 5, 0}, {many, 5, 1}).n == many + 1);
  }
  SUBCASE("in a run of updates across it") {
    Welford state{many - 2, 5, 0};
    for (int i = 0; i < 5; ++i) state = update(state, 5);
    CHECK(state.n == many + 3);
    CHECK(state.m2 == 0);
  }
  SUBCASE("in 2²⁴ + 1 updates: zeros, and then one value that makes the mean 1") {
    Welford state{};
    for (std::int64_t i = 0; i < many; ++i) state = update(state, 0);
    CHECK(state.n == many);
    const double last = static_cast<double>(many) + 2;  // 2²⁴ + 1 is no float
    state = update(state, static_cast<float>(last));
    CHECK(state.n == many + 1);
    CHECK(std::abs(state.mean - last / (many + 1)) <= 4 * u);
    CHECK(std::abs(state.m2 / (last * last * many / (many + 1)) - 1) <= 8 * u);
  }
  SUBCASE("and two halves of 2⁴⁰ values each have the mean between theirs") {
    const std::int64_t half = std::int64_t{1} << 40;
    const Welford both = merge({half, 1, 0}, {half, 3, 0});
    CHECK(both.n == 2 * half);
    CHECK(both.mean == 2);
    CHECK(variance(both) == 1);
  }
}

// ---- division against reciprocal ------------------------------------------------------------------------------------

TEST_CASE("delta · (1 ÷ n) in place of delta ÷ n changes nothing that can be seen in the variance") {
  const auto update_by_reciprocal = [](const Welford& state, float x) {
    const std::int64_t n = state.n + 1;
    const float delta = x - state.mean;
    const float mean = state.mean + delta * (1.0f / static_cast<float>(n));
    return Welford{n, mean, state.m2 + delta * (x - mean)};
  };
  Random random(12);
  double division = 0, reciprocal = 0;  // sums of error/bound over all rows
  int rows = 0;
  for (int i = 0; i < trials; ++i) {
    const std::vector<float> row = random_row(random);
    if (constant(row)) continue;
    Welford other{};
    for (const float x : row) other = update_by_reciprocal(other, x);
    const auto depth = static_cast<std::int64_t>(row.size());
    const double ratio = error_over_bound(variance(other), row, depth);
    CHECK(ratio <= 1);
    reciprocal += ratio;
    division += error_over_bound(variance(state_of(row)), row, depth);
    ++rows;
  }
  MESSAGE("error/bound on average " << division / rows << " by division, " << reciprocal / rows << " by reciprocal");
  CHECK(std::abs(reciprocal / division - 1) <= 0.05);
}

// ---- on the device --------------------------------------------------------------------------------------------------

namespace {

constexpr int values = 48, block_threads = 64;

/// Each thread splits its row of 48 values at `cut`, and merges the two states.
__global__ void split_kernel(const float* x, Welford* states, int cut) {
  const int row = static_cast<int>(blockIdx.x) * block_threads + static_cast<int>(threadIdx.x);
  Welford a{}, b{};
  for (int i = 0; i < cut; ++i) a = update(a, x[row * values + i]);
  for (int i = cut; i < values; ++i) b = update(b, x[row * values + i]);
  states[row] = merge(a, b);
}

}  // namespace

TEST_CASE("on the device, where nvcc may fuse a product and a sum, the same holds") {
  Random random(13);
  constexpr int blocks = 4, rows = blocks * block_threads;
  std::vector<float> x(rows * values);
  for (int row = 0; row < rows; ++row) {
    // Constant rows, neighbours one ulp apart, and rows with an offset of up to 10⁵.
    const auto base = static_cast<float>(random.uniform(1, 2) * std::pow(10, random.uniform(0, 5)));
    for (int i = 0; i < values; ++i) {
      float& value = x[static_cast<std::size_t>(row * values + i)];
      value = base;
      if (row % 3 == 1 && random.bits() % 2) value = std::nextafter(base, 1e30f);
      if (row % 3 == 2) value = static_cast<float>(base + random.normal());
    }
  }
  const DeviceBuffer<float> in("x", x);
  // The states travel as bytes: a buffer's poison is made for numbers.
  const DeviceBuffer<std::int32_t> out("states", rows * static_cast<std::int64_t>(sizeof(Welford) / 4));
  double largest = 0;
  for (const int cut : {0, 1, 17, 24, 48}) {
    CAPTURE(cut);
    launch(split_kernel, {blocks, block_threads}, in.data(), reinterpret_cast<Welford*>(out.data()), cut);
    const std::vector<std::int32_t> words = out.download();
    for (int r = 0; r < rows; ++r) {
      Welford state;
      std::memcpy(&state, words.data() + static_cast<std::size_t>(r) * (sizeof(Welford) / 4), sizeof(Welford));
      const std::span<const float> row = std::span(x).subspan(static_cast<std::size_t>(r * values), values);
      CAPTURE(r);
      CHECK(state.n == values);
      CHECK(state.m2 >= 0);
      if (constant(row)) {
        CHECK(state.m2 == 0);
        CHECK(state.mean == row[0]);
        continue;
      }
      const double ratio = error_over_bound(variance(state), row, std::max(cut, values - cut) + (cut % values != 0));
      CHECK(ratio <= 1);
      largest = std::max(largest, ratio);
    }
  }
  MESSAGE("error/bound at most " << largest);
}
