/// Charts of stored measurements: what a chart shows, as data; and the two ways to show it, text and picture.
#pragma once

#include <learn/measurements.h>

#include <string>
#include <vector>

namespace learn {

/// One kernel or peer.
struct Curve {
  struct Point {
    double x, y;
    bool noisy;
  };
  std::string name;     // "three_pass::layer_norm", "Liger", "32×8"
  std::string chapter;  // "01"; empty for a peer
  std::string machine;  // Measurements::machine
  int colour = 0, marker = 0;
  bool dashed = false;
  std::vector<Point> points;  // by x
};

struct Panel {
  std::string heading;
  std::vector<Curve> curves;
};

/// x is a number of columns, or of rows for a latency: a logarithmic axis. y is a fraction of a copy, from 0 upwards,
/// or microseconds on a logarithmic axis.
struct Chart {
  enum class Kind { bars, fractions, microseconds };
  Kind kind = Kind::fractions;
  std::string title, subtitle, x_name;
  std::vector<Panel> panels;
  std::vector<Gap> gaps;  // what has no figure

  /// Sentences: the machines of the curves.
  std::vector<std::string> measured_on() const;
  bool any_noisy() const;
};

/// What ./learn chart draws.
const std::vector<std::string>& chart_names();

/// The chart of that name, of the chapters' results in this folder, NN_name_benchmark.json, and of peers.json if it is
/// there. Throws std::runtime_error, with a sentence that names the folder, where they hold nothing for it.
Chart chart_of(const std::string& name, const std::filesystem::path& folder);

/// The figures, for a terminal of 80 columns.
std::string chart_text(const Chart& chart);
/// An SVG file.
std::string chart_svg(const Chart& chart);

/// A logarithmic axis: where a value between first and last lies, between 0 and 1.
double log_place(double value, double first, double last);

/// Where labels stand that each want to be at a height: as near to it as possible, `gap` apart at least, in their
/// order, between low and high. The heights wanted are in increasing order.
std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double low, double high);

}  // namespace learn
