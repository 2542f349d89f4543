// The pictures of ./learn chart.
#include <learn/chart.h>

#include <fmt/format.h>
#include <learn/svg.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace learn {
namespace {

constexpr double page_width = 816;
constexpr int colours = 8;

// Colours that can be told apart with any kind of colour vision, after Okabe and Ito, darker for a light page; markers
// and dashes tell the curves apart as well.
constexpr const char* rules = R"(
  text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .small { font-size: 11px; } .strong { font-weight: 600; } .title { font-size: 15px; font-weight: 600; }
  .muted { fill: #59636e; } .page { fill: #ffffff; stroke: #d1d9e0; }
  .frame { fill: none; stroke: #8c959f; } .grid { fill: none; stroke: #d1d9e0; } .copy { fill: none; stroke: #59636e; }
  .curve { fill: none; stroke: currentColor; stroke-width: 2; } .dashed { stroke-dasharray: 6 3; }
  .marker, .bar { fill: currentColor; stroke: currentColor; stroke-width: 1.5; } .hollow { fill: #ffffff; }
  .leader { fill: none; stroke: currentColor; stroke-width: 0.8; }
  .c0 { color: #0072b2; } .c1 { color: #c44e00; } .c2 { color: #00805d; } .c3 { color: #a8488a; }
  .c4 { color: #8a6d00; } .c5 { color: #7a4a1e; } .c6 { color: #59636e; } .c7 { color: #2d8bc4; }
)";

constexpr const char* dark_rules = R"(
    text { fill: #e6edf3; } .muted { fill: #9198a1; } .page { fill: #0d1117; stroke: #3d444d; }
    .frame { stroke: #656c76; } .grid { stroke: #30363d; } .copy { stroke: #9198a1; } .hollow { fill: #0d1117; }
    .c0 { color: #4aa8e8; } .c1 { color: #ff8b4d; } .c2 { color: #2fc79a; } .c3 { color: #e39acb; }
    .c4 { color: #e3c13a; } .c5 { color: #cf9f78; } .c6 { color: #9198a1; } .c7 { color: #a5d8ff; }
)";

std::string colour_of(const Curve& curve) { return fmt::format("c{}", curve.colour % colours); }

void mark(Svg& svg, double x, double y, const Curve& curve, bool noisy) {
  svg.marker(x, y, curve.marker, colour_of(curve) + (noisy ? " marker hollow" : " marker"));
}

std::string label_of(const Curve& curve) {
  return curve.chapter.empty() || curve.name.find("::") == std::string::npos ? curve.name
                                                                             : curve.chapter + " " + curve.name;
}

/// What stands below every chart, from this height down; returns the height of the page.
double footer(Svg& svg, const Chart& chart, double top) {
  constexpr double line = 15;
  double y = top;
  if (chart.any_noisy()) {
    svg.text(24, y, "hollow: the median of a second run differs by more than 3 %", "small muted");
    y += line;
  }
  for (const std::string& sentence : chart.measured_on()) {
    svg.text(24, y, sentence, "small muted");
    y += line;
  }
  return y + 3;
}

void heading(Svg& svg, const Chart& chart) {
  svg.text(24, 28, chart.title, "title");
  svg.text(24, 48, chart.subtitle, "small muted");
}

/// The end of a scale of fractions: 1, or more where a kernel is faster than the copy.
double highest_fraction(const Chart& chart) {
  double highest = 1;
  for (const Panel& panel : chart.panels) {
    for (const Curve& curve : panel.curves) {
      for (const Curve::Point& point : curve.points) highest = std::max(highest, std::ceil(point.y * 10 - 1e-9) / 10);
    }
  }
  return highest;
}

/// These factors times the powers of ten, from the last one that is not above `low` to the first not below `high`.
std::vector<double> steps(double low, double high, const std::vector<double>& factors) {
  std::vector<double> all;
  for (double decade = std::pow(10, std::floor(std::log10(low)));; decade *= 10) {
    for (const double factor : factors) {
      if (factor * decade <= low) all.clear();
      all.push_back(factor * decade);
      if (all.back() >= high) return all;
    }
  }
}

/// The ticks of a logarithmic axis.
std::vector<double> log_ticks(double low, double high) {
  const std::vector<double> coarse = steps(low, high, {1, 2, 5});
  return coarse.size() > 3 ? coarse : steps(low, high, {1, 2, 3, 4, 5, 6, 7, 8, 9});
}

/// One panel of curves. The axes are those of the whole chart, so that its panels can be compared.
class Frame {
public:
  static constexpr double left = 64, width = 480;

  Frame(const Chart& chart, const Panel& panel, double top, double height)
      : panel_(panel), top_(top), height_(height), is_logarithmic_(chart.kind == Chart::Kind::microseconds) {
    std::set<double> ys;
    for (const Panel& one : chart.panels) {
      for (const Curve& curve : one.curves) {
        for (const Curve::Point& point : curve.points) {
          xs_.insert(point.x);
          ys.insert(point.y);
        }
      }
    }
    if (is_logarithmic_) {
      y_ticks_ = log_ticks(*ys.begin(), *ys.rbegin());
    } else {
      y_end_ = highest_fraction(chart);
      for (int tick = 0; tick * 0.2 < y_end_ + 1e-9; ++tick) y_ticks_.push_back(tick * 0.2);
    }
  }

  double x(double value) const { return left + width * log_place(value, *xs_.begin(), *xs_.rbegin()); }
  double y(double value) const {
    const double place = is_logarithmic_ ? log_place(value, y_ticks_.front(), y_ticks_.back()) : value / y_end_;
    return top_ + height_ * (1 - place);
  }

  void draw(Svg& svg) const {
    for (const double tick : y_ticks_) {
      svg.line(left, y(tick), left + width, y(tick), "grid");
      svg.text(left - 6, y(tick) + 4, is_logarithmic_ ? fmt::format("{:g}", tick) : fmt::format("{:.1f}", tick),
               "small muted", "end");
    }
    for (const double value : xs_) {
      const auto whole = static_cast<std::int64_t>(value);
      if ((whole & (whole - 1)) != 0) continue;
      svg.line(x(value), top_, x(value), top_ + height_, "grid");
      svg.text(x(value), top_ + height_ + 15, grouped(whole), "small muted", "middle");
    }
    svg.box(left, top_, width, height_, "frame");
    if (!is_logarithmic_) svg.line(left, y(1), left + width, y(1), "copy");
    for (const Curve& curve : panel_.curves) {
      std::vector<std::pair<double, double>> points;
      for (const Curve::Point& point : curve.points) points.emplace_back(x(point.x), y(point.y));
      svg.lines(points, colour_of(curve) + (curve.dashed ? " curve dashed" : " curve"));
      for (const Curve::Point& point : curve.points) mark(svg, x(point.x), y(point.y), curve, point.noisy);
    }
    label(svg);
  }

private:
  /// Names at the ends of the curves.
  void label(Svg& svg) const {
    std::vector<const Curve*> curves;
    for (const Curve& curve : panel_.curves) curves.push_back(&curve);
    const auto end_of = [&](const Curve* curve) { return y(curve->points.back().y); };
    std::stable_sort(curves.begin(), curves.end(),
                     [&](const Curve* a, const Curve* b) { return end_of(a) < end_of(b); });
    std::vector<double> wanted;
    for (const Curve* curve : curves) wanted.push_back(end_of(curve));
    constexpr double gap = 16, right = left + width;
    const std::vector<double> heights = spread_labels(wanted, gap, top_, top_ + height_);
    for (std::size_t i = 0; i < curves.size(); ++i) {
      const Curve& curve = *curves[i];
      svg.lines({{x(curve.points.back().x) + 4, wanted[i]}, {right + 8, wanted[i]}, {right + 24, heights[i]}},
                colour_of(curve) + " leader");
      mark(svg, right + 29, heights[i], curve, false);
      svg.text(right + 38, heights[i] + 4, label_of(curve), "label");
    }
  }

  const Panel& panel_;
  double top_, height_;
  bool is_logarithmic_;
  std::set<double> xs_;
  std::vector<double> y_ticks_;
  double y_end_ = 1;
};

/// A line for each kernel, and a bar in it for each x.
std::string bars_svg(const Chart& chart) {
  constexpr double left = 306, top = 92, line = 22, thickness = 14, width = 190, across = 256;
  const std::vector<Curve>& curves = chart.panels.front().curves;
  const double highest = highest_fraction(chart), bottom = top + line * static_cast<double>(curves.size());
  std::set<double> xs;
  for (const Curve& curve : curves) {
    for (const Curve::Point& point : curve.points) xs.insert(point.x);
  }
  Svg svg;
  heading(svg, chart);
  const auto column_of = [&](double x) {
    return left + across * static_cast<double>(std::distance(xs.begin(), xs.find(x)));
  };
  for (const double x : xs) {
    svg.text(column_of(x), top - 12, fmt::format("{} = {}", chart.x_name, grouped(static_cast<std::int64_t>(x))),
             "strong");
    svg.text(column_of(x) + width / highest, top - 12, "copy", "small muted", "middle");
    svg.line(column_of(x), top - 6, column_of(x), bottom, "grid");
    svg.line(column_of(x) + width / highest, top - 6, column_of(x) + width / highest, bottom, "copy");
  }
  double y = top;
  for (const Curve& curve : curves) {
    svg.text(left - 10, y + 14, label_of(curve), "label", "end");
    for (const Curve::Point& point : curve.points) {
      svg.box(column_of(point.x), y + 3, width * point.y / highest, thickness,
              colour_of(curve) + (point.noisy ? " bar hollow" : " bar"));
      svg.text(column_of(point.x) + width + 44, y + 14, fraction(point.y), "small", "end");
    }
    y += line;
  }
  const double height = footer(svg, chart, bottom + 24);
  return svg.finish(page_width, height, chart.title + ": " + chart.subtitle, rules, dark_rules);
}

}  // namespace

double log_place(double value, double first, double last) {
  return first == last ? 0.5 : std::log(value / first) / std::log(last / first);
}

std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double low, double high) {
  // Less i · gap each, the heights may be equal but not decrease: an isotonic regression, by pooling adjacent
  // violators.
  struct Pool {
    double sum;
    int count;
    double mean() const { return sum / count; }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    pools.push_back({wanted[i] - gap * static_cast<double>(i), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  std::vector<double> heights;
  const double lowest_end = std::max(low, high - gap * (static_cast<double>(wanted.size()) - 1));
  for (const Pool& pool : pools) {
    for (int i = 0; i < pool.count; ++i) {
      heights.push_back(std::clamp(pool.mean(), low, lowest_end) + gap * static_cast<double>(heights.size()));
    }
  }
  return heights;
}

std::string chart_svg(const Chart& chart) {
  if (chart.kind == Chart::Kind::bars) return bars_svg(chart);
  Svg svg;
  heading(svg, chart);
  const bool is_single = chart.panels.size() == 1;
  double top = 64;
  for (const Panel& panel : chart.panels) {
    if (!panel.heading.empty()) svg.text(Frame::left, top + 12, panel.heading, "strong");
    if (!panel.heading.empty()) top += 22;
    const double height = is_single ? 400 : 250;
    const Frame frame(chart, panel, top, height);
    frame.draw(svg);
    svg.text(Frame::left + Frame::width, top + height + 32, chart.x_name, "small muted", "end");
    top += height + 44;
  }
  const double height = footer(svg, chart, top + 12);
  return svg.finish(page_width, height, chart.title + ": " + chart.subtitle, rules, dark_rules);
}

}  // namespace learn
