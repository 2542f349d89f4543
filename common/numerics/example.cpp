#include <numerics/example.h>

#include <cstddef>
#include <utility>

namespace numerics {

std::vector<double> example_decimals() {
  std::vector<double> values;
  for (int i = 1; i <= 10; ++i) values.push_back((1000000 + i) / 1000.0);
  return values;
}

std::vector<float> example_row() {
  const std::vector<double> decimals = example_decimals();
  return {decimals.begin(), decimals.end()};
}

std::map<float, std::int64_t> textbook_in_all_orders(Row row, Products products) {
  // Millions of orders, but the elements added so far are one of 2ⁿ sets, and the orders of a set end at a few sums.
  using Orders = std::map<std::pair<float, float>, std::int64_t>;  // (Σx, Σx²) and how many orders lead there
  std::vector<Orders> reached(std::size_t{1} << row.size());
  reached[0][{0.0f, 0.0f}] = 1;
  for (std::size_t set = 0; set < reached.size(); ++set) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t bit = std::size_t{1} << i;
      if ((set & bit) != 0) continue;
      for (const auto& [sums, orders] : reached[set]) {
        const Sums next = add({sums.first, sums.second}, row[i], products);
        reached[set | bit][{next.x, next.squares}] += orders;
      }
    }
  }
  std::map<float, std::int64_t> variances;
  for (const auto& [sums, orders] : reached.back()) {
    variances[textbook({sums.first, sums.second}, static_cast<std::int64_t>(row.size()), products)] += orders;
  }
  return variances;
}

}  // namespace numerics
