/// The variance of a row of floats by every method that the course compares, in plain C++ for the host.
///
/// Each function takes a row of at least one element and gives Σ(x − mean)² ÷ n as binary32 arithmetic gives it: every
/// operation is rounded, and a fused multiply-add happens only where Products::fused asks for one. A function with
/// lanes does what that many threads of a kernel do: lane l takes the elements l, l + lanes, l + 2·lanes, …, one after
/// the other, and a tree then merges the lanes, by Tree::far_first where none is named. lanes is a power of two.
/// Explained in docs/numerics.md.
#pragma once

#include <cstdint>
#include <span>

namespace numerics {

using Row = std::span<const float>;

/// How x·x is added to a sum, and mean·mean taken from one: rounded first, or by fmaf, which rounds once at the end.
enum class Products { rounded, fused };

/// Which lanes a tree merges first. far_first: those lanes/2 apart, then lanes/4, …, 1, as the trees in shared memory
/// of chapters 01 to 03 and many kernels' shuffles do. near_first: neighbours, then 2, 4, … apart, as device/reduce.cuh
/// does.
enum class Tree { far_first, near_first };

/// Σx and Σx², as a kernel gathers them in one pass.
struct Sums {
  float x = 0;
  float squares = 0;
};
Sums add(const Sums& sums, float x, Products products);
Sums merge(const Sums& a, const Sums& b);

Sums sums_sequential(Row row, Products products);
Sums sums_reversed(Row row, Products products);
/// A row of one element is its own sum; a longer one is halved, and the halves' sums are added.
Sums sums_pairwise(Row row, Products products);
Sums sums_lanes(Row row, int lanes, Products products, Tree tree = Tree::far_first);
/// Kahan's compensated sums: each carries the part that its last addition lost. Source: Kahan, Further Remarks on
/// Reducing Truncation Errors, 1965.
Sums sums_kahan(Row row);

/// Σx²/n − (Σx/n)², the difference of two numbers that may be large and nearly equal; so it may be negative.
float textbook(const Sums& sums, std::int64_t n, Products products = Products::rounded);

/// The textbook formula with sums, and their difference, in double.
float textbook_in_double(Row row);
/// The textbook formula on x − x[0]: an offset of the whole row is gone, if x[0] is like the others.
float shifted(Row row);
float shifted_lanes(Row row, int lanes);

/// The mean first, then Σ(x − mean)² ÷ n in a second pass.
float two_pass(Row row);
float two_pass_lanes(Row row, int lanes);
/// The same, less (Σ(x − mean))² ÷ n², which would be 0 if the mean were exact.
float corrected_two_pass(Row row);
float corrected_two_pass_lanes(Row row, int lanes);

/// Welford's update, element by element.
float welford(Row row);
/// The same with delta · (1 ÷ n) in place of delta ÷ n.
float welford_reciprocal(Row row);
/// Chan's merge alone, from single elements up: the row is halved, and the halves' states are merged.
float pairwise(Row row);
/// Welford's update in each lane, Chan's merge over the lanes: with far_first the block kernel of chapter 03, with
/// near_first a warp of chapter 04.
float welford_lanes(Row row, int lanes, Tree tree = Tree::far_first);

}  // namespace numerics
