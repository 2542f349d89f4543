/// The worked example of docs/numerics.md and of chapters 02 and 03: ten values near 1000 whose variance every method
/// gets, and most orders of Σx² get wrong.
#pragma once

#include <numerics/variance.h>

#include <cstdint>
#include <map>
#include <vector>

namespace numerics {

/// 1000.001, 1000.002, …, 1000.010 in double, and as the floats next to them.
std::vector<double> example_decimals();
std::vector<float> example_row();

/// The variances that the textbook formula gives over all n! orders in which a row can be added up one element after
/// the other, each with the number of orders that give it. The row has at most 16 elements.
std::map<float, std::int64_t> textbook_in_all_orders(Row row, Products products);

}  // namespace numerics
