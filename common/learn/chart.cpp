// ./learn chart: the stored results of a GPU, as text or as a picture.
#include <learn/chart.h>

#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/files.h>
#include <learn/text.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <regex>
#include <set>
#include <stdexcept>

namespace learn {
namespace {

namespace fs = std::filesystem;

using Point = Curve::Point;
/// Whether a chart has this measurement.
using Wanted = std::function<bool(const Measurement&)>;
using WantedKernel = std::function<bool(const std::string&)>;

struct Chapter {
  std::string number;  // "05"
  Measurements results;
};

/// The results in a folder.
struct Stored {
  std::vector<Chapter> chapters;
  Measurements peers;  // without a point if there is no peers.json
};

Stored stored_results(const fs::path& folder) {
  static const std::regex of_chapter(R"((\d\d)_[a-z]\w*_benchmark\.json)");  // an exercise's is 01_1_solution_…
  Stored stored;
  if (!fs::is_directory(folder)) throw std::runtime_error(fmt::format("There is no folder {}.", folder.string()));
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.insert(entry.path());
  for (const fs::path& file : files) {
    const std::string name = file.filename();
    std::smatch found;
    if (std::regex_match(name, found, of_chapter)) stored.chapters.push_back({found[1], stored_measurements(file)});
    if (name == "peers.json") stored.peers = stored_measurements(file);
  }
  return stored;
}

/// The kernels of a file in its order.
std::vector<std::string> kernels(const Measurements& results, const WantedKernel& wanted) {
  std::vector<std::string> names;
  for (const Measurement& point : results.points) {
    if (wanted(point.kernel) && std::find(names.begin(), names.end(), point.kernel) == names.end())
      names.push_back(point.kernel);
  }
  return names;
}

/// The points of a kernel with a cold L2, by x.
std::vector<Point> points_of(const Measurements& results, const std::string& kernel, const Wanted& wanted,
                             const std::function<Point(const Measurement&)>& point_of) {
  std::vector<Point> points;
  for (const Measurement& point : results.points) {
    if (point.kernel == kernel && point.cache == "cold" && wanted(point)) points.push_back(point_of(point));
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  return points;
}

/// Which kernels of a chapter a chart shows.
enum class Which { every, last };

/// The curves of an operation: those of the chapters, then those of the peers. Colours, markers and dashes tell them
/// apart; a kernel keeps its own where another has no point.
std::vector<Curve> curves_of(const Stored& stored, const std::string& operation, Which which, const Wanted& wanted,
                             const std::function<Point(const Measurement&)>& point_of) {
  const auto of_operation = [&](const std::string& kernel) { return operation_of(kernel) == operation; };
  std::vector<Curve> curves;
  int number = 0;
  const auto add = [&](Curve curve) {
    curve.colour = curve.marker = number++;
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  };
  for (const Chapter& chapter : stored.chapters) {
    std::vector<std::string> names = kernels(chapter.results, of_operation);
    if (which == Which::last && names.size() > 1) names.erase(names.begin(), names.end() - 1);
    for (const std::string& name : names) {
      add({.name = name,
           .chapter = chapter.number,
           .machine = chapter.results.machine,
           .points = points_of(chapter.results, name, wanted, point_of)});
    }
  }
  const auto of_peer = [&](const std::string& kernel) { return of_operation(kernel) && !peer_of(kernel).empty(); };
  for (const std::string& name : kernels(stored.peers, of_peer)) {
    add({.name = peer_of(name),
         .chapter = "",
         .machine = stored.peers.machine,
         .dashed = true,
         .points = points_of(stored.peers, name, wanted, point_of)});
  }
  return curves;
}

/// What an operation has no figure for, where it should be on the chart.
std::vector<Gap> gaps_of(const Stored& stored, const std::string& operation, const Wanted& wanted) {
  std::vector<LeftOut> left_out;
  const auto look = [&](const Measurements& results) {
    for (const LeftOut& left : results.left_out) {
      if (operation_of(left.point.kernel) == operation && wanted(left.point)) left_out.push_back(left);
    }
  };
  for (const Chapter& chapter : stored.chapters) look(chapter.results);
  look(stored.peers);
  return gaps(left_out);
}

/// The largest size that a kernel was measured on, in elements.
std::int64_t largest_size(const Stored& stored, const WantedKernel& wanted) {
  std::int64_t size = 0;
  const auto look = [&](const Measurements& results) {
    for (const Measurement& point : results.points) {
      if (point.cache == "cold" && wanted(point.kernel)) size = std::max(size, point.elements());
    }
  };
  for (const Chapter& chapter : stored.chapters) look(chapter.results);
  look(stored.peers);
  return size;
}

/// Whether a point is of this size: as many rows as fit into it.
bool is_of_size(const Measurement& point, std::int64_t size) {
  return point.cols != 0 ? point.rows == size / point.cols : point.count == size;
}

Point fraction_over_cols(const Measurement& point) {
  return {static_cast<double>(point.cols), point.of_copy, point.noisy};
}

/// 2^28 → "2²⁸", another number in full.
std::string size_text(std::int64_t size) {
  static const char* const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (size <= 0 || (size & (size - 1)) != 0) return grouped(size);
  std::string power;
  for (const char digit : std::to_string(std::countr_zero(static_cast<std::uint64_t>(size))))
    power += digits[digit - '0'];
  return "2" + power;
}

std::string fraction_words(std::int64_t size) {
  return fmt::format("rate as a fraction of that of a copy, {} floats, cold L2", size_text(size));
}

Chart over_cols(const Stored& stored, const std::string& title, const std::string& operation, Which which) {
  const std::int64_t size =
      largest_size(stored, [&](const std::string& kernel) { return operation_of(kernel) == operation; });
  const auto wanted = [&](const Measurement& point) { return point.cols != 0 && is_of_size(point, size); };
  return {.title = title,
          .subtitle = fraction_words(size),
          .x_name = "H, columns of a row",
          .panels = {{"", curves_of(stored, operation, which, wanted, fraction_over_cols)}},
          .gaps = gaps_of(stored, operation, wanted)};
}

Chart forward(const Stored& stored) {
  return over_cols(stored, "LayerNorm by the number of columns", "layer_norm", Which::last);
}
Chart rms_norm(const Stored& stored) {
  return over_cols(stored, "RMSNorm by the number of columns", "rms_norm", Which::last);
}
Chart backward(const Stored& stored) {
  return over_cols(stored, "The backward of LayerNorm by the number of columns", "layer_norm_backward", Which::every);
}

bool is_model_width(std::int64_t cols) { return cols == 4096 || cols == 8192; }

/// A bar for each kernel of the forward and for each copy. A copy has no columns: its bar stands in both panels.
Chart ladder(const Stored& stored) {
  static const std::vector<std::string> forwards = {"copy", "layer_norm", "rms_norm"};
  const auto kind_of = [](const std::string& kernel) {
    return std::find(forwards.begin(), forwards.end(), operation_of(kernel)) - forwards.begin();
  };
  const auto is_forward = [&](const std::string& kernel) {
    return peer_of(kernel).empty() && kind_of(kernel) < static_cast<std::ptrdiff_t>(forwards.size());
  };
  const std::int64_t size = largest_size(stored, is_forward);
  Chart chart{.kind = Chart::Kind::bars,
              .title = "The ladder, measured",
              .subtitle = fraction_words(size),
              .x_name = "H",
              .panels = {{"", {}}},
              .gaps = {}};
  for (const Chapter& chapter : stored.chapters) {
    for (const std::string& name : kernels(chapter.results, is_forward)) {
      Curve curve{.name = name, .chapter = chapter.number, .machine = chapter.results.machine, .points = {}};
      curve.colour = static_cast<int>(kind_of(name));
      curve.points = points_of(
          chapter.results, name,
          [&](const Measurement& point) { return is_of_size(point, size) && is_model_width(point.cols); },
          fraction_over_cols);
      for (const Measurement& point : chapter.results.points) {
        if (point.kernel != name || point.cache != "cold" || point.count != size) continue;
        for (const double cols : {4096.0, 8192.0}) curve.points.push_back({cols, point.of_copy, point.noisy});
      }
      if (!curve.points.empty()) chart.panels.front().curves.push_back(std::move(curve));
    }
  }
  return chart;
}

Chart latency(const Stored& stored) {
  constexpr std::int64_t most_rows = 128;
  Chart chart{.kind = Chart::Kind::microseconds,
              .title = "LayerNorm of a few rows",
              .subtitle = "microseconds of a launch, median, cold L2",
              .x_name = "B, rows",
              .panels = {},
              .gaps = {}};
  chart.gaps = gaps_of(stored, "layer_norm",
                       [](const Measurement& point) { return is_model_width(point.cols) && point.rows <= most_rows; });
  for (const std::int64_t cols : {4096, 8192}) {
    const auto wanted = [&](const Measurement& point) { return point.cols == cols && point.rows <= most_rows; };
    const auto point_of = [](const Measurement& point) {
      return Point{static_cast<double>(point.rows), 1000 * point.median_ms, point.noisy};
    };
    std::vector<Curve> curves = curves_of(stored, "layer_norm", Which::last, wanted, point_of);
    if (!curves.empty()) chart.panels.push_back({fmt::format("H = {}", grouped(cols)), std::move(curves)});
  }
  return chart;
}

/// Chapter 05's kernel in each shape of a block: threads of a row × rows of a block.
Chart shapes(const Stored& stored) {
  static const std::string prefix = "shape ";
  const auto is_shape = [](const std::string& kernel) { return kernel.starts_with(prefix); };
  const std::int64_t size = largest_size(stored, is_shape);
  Chart chart{.title = "The shapes of chapter 05: threads of a row × rows of a block",
              .subtitle = fraction_words(size),
              .x_name = "H, columns of a row",
              .panels = {{"", {}}},
              .gaps = {}};
  std::vector<Curve>& curves = chart.panels.front().curves;
  std::string threads;  // of the shape before: each number of threads has its colour
  int colour = -1;
  for (const Chapter& chapter : stored.chapters) {
    for (const std::string& name : kernels(chapter.results, is_shape)) {
      Curve curve{.name = name.substr(prefix.size()),
                  .chapter = chapter.number,
                  .machine = chapter.results.machine,
                  .points = {}};
      const std::string of_row = curve.name.substr(0, curve.name.find("×"));
      if (of_row != threads) ++colour;
      threads = of_row;
      curve.colour = colour;
      curve.marker = static_cast<int>(curves.size());
      curve.dashed = !curve.name.ends_with("×1");
      curve.points = points_of(
          chapter.results, name, [&](const Measurement& point) { return is_of_size(point, size); }, fraction_over_cols);
      if (!curve.points.empty()) curves.push_back(std::move(curve));
    }
  }
  return chart;
}

struct Named {
  const char* name;
  Chart (*make)(const Stored& stored);
};
const std::vector<Named>& charts() {
  static const std::vector<Named> all = {{"ladder", ladder},     {"forward", forward}, {"rms_norm", rms_norm},
                                         {"backward", backward}, {"latency", latency}, {"shapes", shapes}};
  return all;
}

// ---- As text

std::string figure(const Chart& chart, const Point& point) {
  const int decimals = chart.kind == Chart::Kind::microseconds ? 1 : point.y < 0.1 ? 3 : 2;
  return fmt::format("{:.{}f}{}", point.y, decimals, point.noisy ? '~' : ' ');
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t taken = columns_of(text);
  return taken < columns ? text + std::string(columns - taken, ' ') : text;
}

/// Kernels × x, as many x beside each other as there is room for.
std::string panel_text(const Chart& chart, const Panel& panel) {
  constexpr std::size_t cell = 7;
  std::set<double> all;
  std::size_t widest = columns_of(chart.x_name);
  for (const Curve& curve : panel.curves) {
    widest = std::max(widest, columns_of(curve.name));
    for (const Point& point : curve.points) all.insert(point.x);
  }
  widest = std::min(widest, terminal_columns / 2);
  const std::vector<double> xs(all.begin(), all.end());
  const std::size_t room = (terminal_columns - widest) / cell, blocks = (xs.size() + room - 1) / room;
  const std::size_t beside = (xs.size() + blocks - 1) / blocks;

  std::string text;
  for (std::size_t first = 0; first < xs.size(); first += beside) {
    const std::size_t end = std::min(first + beside, xs.size());
    const auto add_line = [&](const std::string& name, const std::function<std::string(double)>& words) {
      std::string line = padded(shortened(name, widest), widest);
      for (std::size_t i = first; i < end; ++i) line += fmt::format("{:>{}}", words(xs[i]), cell);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    };
    text += "\n";
    add_line(chart.x_name, [](double x) { return fmt::format("{} ", x); });
    for (const Curve& curve : panel.curves) {
      add_line(curve.name, [&](double x) {
        for (const Point& point : curve.points) {
          if (point.x == x) return figure(chart, point);
        }
        return std::string();
      });
    }
  }
  return text;
}

}  // namespace

const std::vector<std::string>& chart_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Named& named : charts()) all.emplace_back(named.name);
    return all;
  }();
  return names;
}

std::vector<std::string> Chart::measured_on() const {
  std::vector<std::string> sentences;
  for (const Panel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      const std::string sentence =
          fmt::format("{} on {}.", curve.chapter.empty() ? "Peers: measured" : "Measured", curve.machine);
      if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(sentence);
    }
  }
  return sentences;
}

bool Chart::any_noisy() const {
  for (const Panel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      if (std::any_of(curve.points.begin(), curve.points.end(), [](const Point& point) { return point.noisy; }))
        return true;
    }
  }
  return false;
}

Chart chart_of(const std::string& name, const fs::path& folder) {
  const auto named = std::find_if(charts().begin(), charts().end(), [&](const Named& one) { return name == one.name; });
  if (named == charts().end())
    throw std::runtime_error(
        fmt::format("there is no chart '{}'; the charts are {}.", name, fmt::join(chart_names(), ", ")));
  const Stored stored = stored_results(folder);
  Chart chart = named->make(stored);
  if (std::all_of(chart.panels.begin(), chart.panels.end(), [](const Panel& panel) { return panel.curves.empty(); })) {
    throw std::runtime_error(
        fmt::format("{} holds no measurement for the chart '{}'; the results of the chapters are files "
                    "NN_name_benchmark.json.",
                    folder.string(), name));
  }
  return chart;
}

std::string chart_text(const Chart& chart) {
  std::string text = wrapped(chart.title + ": " + chart.subtitle) + "\n";
  for (const Panel& panel : chart.panels) {
    if (!panel.heading.empty()) text += "\n" + panel.heading + "\n";
    text += panel_text(chart, panel);
  }
  text += "\n";
  if (chart.any_noisy()) text += "~ the median of a second run differs by more than 3 %\n";
  for (const Gap& gap : chart.gaps) {
    text += wrapped(fmt::format("{} on {} has no figure, {}", gap.kernel, gap.where, gap.reason), 2) + "\n";
  }
  for (const std::string& sentence : chart.measured_on()) text += wrapped(sentence) + "\n";
  return text;
}

ExitCode chart(const ChartOptions& options) {
  const Chart chart = chart_of(options.name, options.results);
  if (options.svg.empty()) {
    fmt::print("{}", chart_text(chart));
    return success;
  }
  write_text(options.svg, chart_svg(chart));
  fmt::print("Drawn: {}\n", options.svg);
  return success;
}

}  // namespace learn
