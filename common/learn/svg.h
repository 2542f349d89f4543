/// An SVG picture that can be read on a light page and on a dark one, as text.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace learn {

/// Lengths are in pixels, y grows downwards; kind is the CSS class of an element.
class Svg {
public:
  void box(double x, double y, double width, double height, const std::string& kind);
  void text(double x, double y, const std::string& words, const std::string& kind, const char* anchor = "start");
  void line(double x1, double y1, double x2, double y2, const std::string& kind);
  void lines(const std::vector<std::pair<double, double>>& points, const std::string& kind);
  void curve(double x1, double y1, double x2, double y2, const std::string& kind);
  void dot(double x, double y, const std::string& kind);
  /// A circle, a square, a triangle, a diamond, a triangle on its head or a cross; further shapes begin anew.
  void marker(double x, double y, int shape, const std::string& kind);
  void begin_group(const char* kind);
  void end_group();

  /// The whole file. The rules are lines of CSS; those for a dark page come on top of the others. The class "page" is
  /// the background.
  std::string finish(double width, double height, const std::string& title, const std::string& rules,
                     const std::string& dark_rules) const;

private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    parts_ += "  " + fmt::format(format, std::forward<Values>(values)...) + '\n';
  }
  std::string parts_;
};

}  // namespace learn
