// No kernels, but their own device/welford.cuh: numerics/CMakeLists.txt says why the file is compiled as they are.
#include <numerics/variance.h>

#include <device/welford.cuh>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace numerics {
namespace {

/// Halves the row until single elements are left, and merges on the way back.
template <class State, class First, class Merge>
State halved(Row row, First first, Merge merge) {
  if (row.size() == 1) return first(row[0]);
  const std::size_t half = row.size() / 2;
  const State left = halved<State>(row.first(half), first, merge);
  return merge(left, halved<State>(row.subspan(half), first, merge));
}

/// What `lanes` threads do: each adds its elements to a state, then a tree merges the states into that of lane 0.
template <class State, class Add, class Merge>
State in_lanes(Row row, int lanes, Tree tree, Add add, Merge merge) {
  std::vector<State> states(static_cast<std::size_t>(lanes));
  for (std::size_t i = 0; i < row.size(); ++i) {
    State& state = states[i % states.size()];
    state = add(state, row[i]);
  }
  for (std::size_t step = 1; step < states.size(); step *= 2) {
    const std::size_t distance = tree == Tree::near_first ? step : states.size() / (2 * step);
    const std::size_t next = tree == Tree::near_first ? 2 * step : 1;  // from one lane that goes on to the next
    for (std::size_t k = 0; k < states.size() / (2 * step); ++k) {
      states[k * next] = merge(states[k * next], states[k * next + distance]);
    }
  }
  return states[0];
}

float count(Row row) { return static_cast<float>(row.size()); }

/// A sum, and the error of its last addition, which the next one takes back.
struct Compensated {
  float sum = 0;
  float excess = 0;

  void add(float value) {
    // [kahan]
    const float wanted = value - excess;
    const float next = sum + wanted;
    excess = (next - sum) - wanted;  // what the addition put into the sum beyond what was wanted
    sum = next;
    // [/kahan]
  }
};

Sums shifted_sums(Row row, int lanes) {
  const float shift = row[0];
  return in_lanes<Sums>(
      row, lanes, Tree::far_first,
      [shift](const Sums& sums, float x) { return add(sums, x - shift, Products::rounded); }, merge);
}

/// Σ(x − mean) and Σ(x − mean)², for the mean of these lanes' sums.
Sums deviations(Row row, int lanes) {
  const float mean = sums_lanes(row, lanes, Products::rounded).x / count(row);
  return in_lanes<Sums>(
      row, lanes, Tree::far_first, [mean](const Sums& sums, float x) { return add(sums, x - mean, Products::rounded); },
      merge);
}

}  // namespace

Sums add(const Sums& sums, float x, Products products) {
  return {sums.x + x, products == Products::fused ? std::fmaf(x, x, sums.squares) : sums.squares + x * x};
}

Sums merge(const Sums& a, const Sums& b) { return {a.x + b.x, a.squares + b.squares}; }

Sums sums_sequential(Row row, Products products) {
  Sums sums;
  for (const float x : row) sums = add(sums, x, products);
  return sums;
}

Sums sums_reversed(Row row, Products products) {
  Sums sums;
  for (std::size_t i = row.size(); i > 0; --i) sums = add(sums, row[i - 1], products);
  return sums;
}

Sums sums_pairwise(Row row, Products products) {
  return halved<Sums>(
      row, [products](float x) { return add(Sums{}, x, products); }, merge);
}

Sums sums_lanes(Row row, int lanes, Products products, Tree tree) {
  return in_lanes<Sums>(
      row, lanes, tree, [products](const Sums& sums, float x) { return add(sums, x, products); }, merge);
}

Sums sums_kahan(Row row) {
  Compensated sum, squares;
  for (const float x : row) {
    sum.add(x);
    squares.add(x * x);
  }
  return {sum.sum, squares.sum};
}

float textbook(const Sums& sums, std::int64_t n, Products products) {
  const float mean = sums.x / static_cast<float>(n);
  const float mean_square = sums.squares / static_cast<float>(n);
  return products == Products::fused ? std::fmaf(-mean, mean, mean_square) : mean_square - mean * mean;
}

float textbook_in_double(Row row) {
  double sum = 0, squares = 0;
  for (const double x : row) {
    sum += x;
    squares += x * x;
  }
  const double n = static_cast<double>(row.size()), mean = sum / n;
  return static_cast<float>(squares / n - mean * mean);
}

float shifted(Row row) { return shifted_lanes(row, 1); }

float shifted_lanes(Row row, int lanes) {
  return textbook(shifted_sums(row, lanes), static_cast<std::int64_t>(row.size()));
}

float two_pass(Row row) { return two_pass_lanes(row, 1); }

float two_pass_lanes(Row row, int lanes) { return deviations(row, lanes).squares / count(row); }

float corrected_two_pass(Row row) { return corrected_two_pass_lanes(row, 1); }

float corrected_two_pass_lanes(Row row, int lanes) {
  const Sums sums = deviations(row, lanes);
  return (sums.squares - sums.x * sums.x / count(row)) / count(row);
}

float welford(Row row) { return welford_lanes(row, 1); }

float welford_reciprocal(Row row) {
  Welford state{};
  for (const float x : row) {
    const std::int64_t n = state.n + 1;
    const float delta = x - state.mean;
    const float mean = state.mean + delta * (1.0f / static_cast<float>(n));
    state = {n, mean, state.m2 + delta * (x - mean)};
  }
  return variance(state);
}

float pairwise(Row row) {
  return variance(halved<Welford>(
      row,
      [](float x) {
        return Welford{1, x, 0};
      },
      [](const Welford& a, const Welford& b) { return ::merge(a, b); }));
}

float welford_lanes(Row row, int lanes, Tree tree) {
  return variance(
      in_lanes<Welford>(row, lanes, tree, update, [](const Welford& a, const Welford& b) { return ::merge(a, b); }));
}

}  // namespace numerics
