/// The plots of docs/numerics.md, and that of chapter 07.
#pragma once

#include <numerics/experiment.h>

#include <string>
#include <vector>

namespace learn {

/// Error over κ of an experiment's methods, in one plot: an SVG file.
std::string errors_plot(const numerics::Experiment& experiment);
/// A small plot for each method: its errors in each experiment, and its bounds.
std::string bounds_plot(const std::vector<numerics::Experiment>& experiments);

/// What chapter 07's training example printed.
struct TrainingCurve {
  struct Point {
    int step;
    double in_float, in_double;  // the loss
    double difference;           // |float − double| ÷ double
  };
  std::vector<Point> points;
  double tolerance;  // of the difference
};
/// Both losses over the steps, and how far they are from each other.
std::string training_plot(const TrainingCurve& curve);

}  // namespace learn
