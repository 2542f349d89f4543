#include <learn/plot.h>

#include <fmt/format.h>
#include <learn/svg.h>

#include <algorithm>
#include <cmath>

namespace learn {
namespace {

using numerics::Experiment;
using numerics::Measured;
using numerics::MethodErrors;

constexpr double page_width = 816;

constexpr const char* rules = R"(
  text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .small { font-size: 11px; } .strong { font-weight: 600; } .title { font-size: 15px; font-weight: 600; }
  .muted { fill: #59636e; } .page { fill: #ffffff; stroke: #d1d9e0; } .wrong { fill: #fff1e5; }
  .frame { fill: none; stroke: #8c959f; } .grid { fill: none; stroke: #d1d9e0; }
  path { fill: none; stroke-width: 2; } path.grid { stroke-width: 1; } path.bound { stroke-width: 1.2; }
  .c0 { color: #cf222e; } .c1 { color: #bc4c00; } .c2 { color: #9a6700; } .c3 { color: #0969da; }
  .c4 { color: #8250df; } .c5 { color: #1a7f37; } .c6 { color: #0f766e; } .c7 { color: #bf3989; } .c8 { color: #59636e; }
  path.measured, path.bound { stroke: currentColor; } path.bound { stroke-dasharray: 5 3; } circle { fill: currentColor; }
  text.label { fill: currentColor; }
)";

constexpr const char* dark_rules = R"(
    text { fill: #e6edf3; } .muted { fill: #9198a1; } .page { fill: #0d1117; stroke: #3d444d; } .wrong { fill: #2b1708; }
    .frame { stroke: #656c76; } .grid { stroke: #30363d; }
    .c0 { color: #ff7b72; } .c1 { color: #f0883e; } .c2 { color: #d29922; } .c3 { color: #58a6ff; }
    .c4 { color: #bc8cff; } .c5 { color: #3fb950; } .c6 { color: #2dd4bf; } .c7 { color: #f778ba; } .c8 { color: #9198a1; }
)";

const char* power_of_ten(int exponent) {
  static const char* const names[] = {"10⁻⁹", "10⁻⁸", "10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²",
                                      "0.1",  "1",    "10",   "100",  "10³",  "10⁴",  "10⁵"};
  return names[exponent + 9];
}

/// A plot's frame: κ from 1 to 10⁵ to the right, an error from 10⁻⁸ to 10⁴ upwards, both by powers of ten.
class Frame {
public:
  static constexpr int last_kappa = 5, first_error = -8, last_error = 4;

  Frame(double left, double top, double width, double height)
      : left_(left), top_(top), width_(width), height_(height) {}

  double right() const { return left_ + width_; }
  double x(double kappa) const { return left_ + width_ * std::log10(kappa) / last_kappa; }
  double y(double error) const {
    const double place = (std::log10(error) - first_error) / (last_error - first_error);
    return top_ + height_ * (1 - std::clamp(place, 0.0, 1.0));
  }

  /// grid_step: powers of ten from one horizontal line to the next.
  void draw(Svg& svg, int grid_step, bool left_labels, bool bottom_labels) const {
    svg.box(left_, top_, width_, y(1) - top_, "wrong");
    for (int exponent = first_error; exponent <= last_error; exponent += grid_step) {
      const double at = top_ + height_ * (last_error - exponent) / (last_error - first_error);
      svg.line(left_, at, right(), at, "grid");
      if (left_labels) svg.text(left_ - 6, at + 4, power_of_ten(exponent), "small muted", "end");
    }
    for (int exponent = 0; exponent <= last_kappa; ++exponent) {
      const double at = left_ + width_ * exponent / last_kappa;
      svg.line(at, top_, at, top_ + height_, "grid");
      if (bottom_labels) svg.text(at, top_ + height_ + 15, power_of_ten(exponent), "small muted", "middle");
    }
    svg.box(left_, top_, width_, height_, "frame");
  }

  /// A curve as far as it stays inside the frame.
  void curve(Svg& svg, const std::vector<std::pair<double, double>>& by_kappa, const std::string& kind) const {
    const double limit = std::pow(10.0, last_error);
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < by_kappa.size(); ++i) {
      const auto [kappa, error] = by_kappa[i];
      if (error > limit) {
        if (i == 0) return;
        const auto [kappa_before, error_before] = by_kappa[i - 1];
        const double share = std::log(limit / error_before) / std::log(error / error_before);
        points.emplace_back(x(kappa_before * std::pow(kappa / kappa_before, share)), y(limit));
        break;
      }
      points.emplace_back(x(kappa), y(error));
    }
    svg.lines(points, kind);
  }

private:
  double left_, top_, width_, height_;
};

std::vector<std::pair<double, double>> curve_of(const MethodErrors& errors, double Measured::*value) {
  std::vector<std::pair<double, double>> points;
  for (const Measured& measured : errors.by_kappa) points.emplace_back(measured.kappa, measured.*value);
  return points;
}

}  // namespace

std::string errors_plot(const Experiment& experiment) {
  constexpr double top = 64, height = 430;
  const Frame frame(64, top, 500, height);
  Svg svg;
  svg.text(24, 28,
           fmt::format("How much of the variance is lost: rows of {} floats, {} lanes", experiment.n, experiment.lanes),
           "title");
  svg.text(24, 48, fmt::format("largest |variance − exact| ÷ exact of {} rows for each κ", experiment.rows),
           "small muted");
  frame.draw(svg, 1, true, true);
  svg.text(70, top + 15, "nothing is right: the error is larger than the variance", "small muted");
  svg.text(frame.right(), top + height + 32, "κ = √(1 + mean²/variance)", "small muted", "end");

  struct Label {
    double wanted, y;
    std::string words, kind;
  };
  std::vector<Label> labels;
  int colour = 0;
  for (const MethodErrors& errors : experiment.methods) {
    if (!errors.method->in_plot) continue;
    const std::string kind = fmt::format("c{}", colour++);
    frame.curve(svg, curve_of(errors, &Measured::error), kind + " measured");
    const double y = frame.y(errors.by_kappa.back().error);
    labels.push_back({y, y, errors.method->name, kind + " label"});
  }
  // Labels stand at the ends of their curves, and not on each other.
  std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.wanted < b.wanted; });
  for (std::size_t i = 1; i < labels.size(); ++i) labels[i].y = std::max(labels[i].y, labels[i - 1].y + 15);
  for (const Label& label : labels) {
    svg.line(frame.right() + 2, label.wanted, frame.right() + 10, label.y, "grid");
    svg.text(frame.right() + 14, label.y + 4, label.words, label.kind);
  }
  return svg.finish(page_width, top + height + 48, "Relative error of the variance over kappa, for each method", rules,
                    dark_rules);
}

std::string bounds_plot(const std::vector<Experiment>& experiments) {
  constexpr int columns = 4;
  constexpr double left = 56, top = 66, width = 164, height = 130, across = 186, down = 176;
  static const char* const colours[] = {"c3", "c1"};
  const std::vector<MethodErrors>& methods = experiments.at(0).methods;
  const auto count = static_cast<int>(methods.size());
  Svg svg;
  svg.text(24, 28, "Each method and its bound: no error above its line", "title");
  double legend = page_width - 24;
  for (std::size_t e = experiments.size(); e-- > 0;) {
    const std::string words = fmt::format("N = {}, {} lanes", experiments[e].n, experiments[e].lanes);
    svg.text(legend, 28, words, std::string("small label ") + colours[e], "end");
    legend -= 130;
  }
  svg.text(24, 48, "dots: largest error of the variance for each κ; dashed: bound. To the right κ, upwards the error.",
           "small muted");
  for (int i = 0; i < count; ++i) {
    const int column = i % columns, line = i / columns;
    const double x = left + across * column, y = top + 22 + down * line;
    const Frame frame(x, y, width, height);
    frame.draw(svg, 4, column == 0, i + columns >= count);
    svg.text(x, y - 17, methods[static_cast<std::size_t>(i)].method->name, "small strong");
    svg.text(x, y - 5, methods[static_cast<std::size_t>(i)].method->formula, "small muted");
    for (std::size_t e = 0; e < experiments.size(); ++e) {
      const MethodErrors& errors = experiments[e].methods[static_cast<std::size_t>(i)];
      const std::string colour = colours[e];
      frame.curve(svg, curve_of(errors, &Measured::bound), colour + " bound");
      for (const Measured& measured : errors.by_kappa) {
        svg.dot(frame.x(measured.kappa), frame.y(measured.error), colour);
      }
    }
  }
  const int lines = (count + columns - 1) / columns;
  return svg.finish(page_width, top + down * lines + 16,
                    "Measured errors of the variance and their bounds, for each method", rules, dark_rules);
}

std::string training_plot(const TrainingCurve& curve) {
  constexpr double left = 64, top = 64, width = 540, height = 400;
  constexpr int lowest = -9, highest = 2;  // powers of ten
  const int last = curve.points.back().step;
  const auto x = [&](int step) { return left + width * step / last; };
  const auto y = [&](double value) {
    const double place = (std::log10(std::max(value, 1e-300)) - lowest) / (highest - lowest);
    return top + height * (1 - std::clamp(place, 0.0, 1.0));
  };
  const auto line_of = [&](double TrainingCurve::Point::*value) {
    std::vector<std::pair<double, double>> line;
    for (const TrainingCurve::Point& point : curve.points) line.emplace_back(x(point.step), y(point.*value));
    return line;
  };

  Svg svg;
  svg.text(24, 28, "A network with a LayerNorm in it learns, in float and in double", "title");
  svg.text(24, 48, "loss before each step of gradient descent", "small muted");
  for (int exponent = lowest; exponent <= highest; ++exponent) {
    const double at = y(std::pow(10.0, exponent));
    svg.line(left, at, left + width, at, "grid");
    svg.text(left - 6, at + 4, power_of_ten(exponent), "small muted", "end");
  }
  for (int step = 0; step <= last; step += 50) {
    svg.line(x(step), top, x(step), top + height, "grid");
    svg.text(x(step), top + height + 15, std::to_string(step), "small muted", "middle");
  }
  svg.box(left, top, width, height, "frame");
  svg.text(left + width, top + height + 32, "steps", "small muted", "end");

  svg.lines(line_of(&TrainingCurve::Point::in_double), "c3 measured");
  for (const TrainingCurve::Point& point : curve.points) svg.dot(x(point.step), y(point.in_float), "c1");
  svg.lines(line_of(&TrainingCurve::Point::difference), "c4 measured");
  svg.line(left, y(curve.tolerance), left + width, y(curve.tolerance), "c4 bound");

  constexpr double words = left + width + 10;
  const TrainingCurve::Point& end = curve.points.back();
  svg.text(words, y(end.in_double) - 6, "loss in double: line", "c3 label");
  svg.text(words, y(end.in_float) + 12, "loss in float: dots", "c1 label");
  svg.text(words, y(curve.tolerance) + 4, "difference allowed", "c4 label");
  svg.text(words, y(end.difference) - 4, "their difference,", "c4 label");
  svg.text(words, y(end.difference) + 12, "÷ the loss in double", "c4 label");
  return svg.finish(page_width, top + height + 48, "Loss over the steps of a training, in float and in double", rules,
                    dark_rules);
}

}  // namespace learn
