/// The median of some timings, and how far they spread.
#pragma once

#include <vector>

namespace benchmarking {

struct Summary {
  double median = 0;
  /// From the 10th to the 90th percentile, as a fraction of the median. A difference inside it is no difference.
  double spread = 0;
};

/// Percentiles by linear interpolation between order statistics. Throws std::invalid_argument for an empty list.
Summary summarise(std::vector<double> values);

}  // namespace benchmarking
