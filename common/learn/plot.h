/// The plots of docs/numerics.md.
#pragma once

#include <numerics/experiment.h>

#include <string>
#include <vector>

namespace learn {

/// Error over κ of an experiment's methods, in one plot: an SVG file.
std::string errors_plot(const numerics::Experiment& experiment);
/// A small plot for each method: its errors in each experiment, and its bounds.
std::string bounds_plot(const std::vector<numerics::Experiment>& experiments);

}  // namespace learn
