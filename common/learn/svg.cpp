#include <learn/svg.h>

#include <array>
#include <cmath>

namespace learn {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '\t': result += "  "; break;
      default: result += c;
    }
  }
  return result;
}

/// A number of pixels with two digits at most.
double px(double value) { return std::round(value * 100) / 100; }

}  // namespace

void Svg::box(double x, double y, double width, double height, const std::string& kind) {
  add("<rect class=\"{}\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>", kind, px(x), px(y), px(width),
      px(height));
}

void Svg::text(double x, double y, const std::string& words, const std::string& kind, const char* anchor) {
  add("<text class=\"{}\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"{}\">{}</text>", kind, px(x), px(y), anchor,
      escaped(words));
}

void Svg::line(double x1, double y1, double x2, double y2, const std::string& kind) {
  lines({{x1, y1}, {x2, y2}}, kind);
}

void Svg::lines(const std::vector<std::pair<double, double>>& points, const std::string& kind) {
  std::string path;
  for (const auto& [x, y] : points) path += fmt::format("{}{:g} {:g}", path.empty() ? 'M' : 'L', px(x), px(y));
  add("<path class=\"{}\" d=\"{}\"/>", kind, path);
}

void Svg::curve(double x1, double y1, double x2, double y2, const std::string& kind) {
  const double middle = (y1 + y2) / 2;
  add("<path class=\"{}\" d=\"M{:g} {:g}C{:g} {:g} {:g} {:g} {:g} {:g}\"/>", kind, px(x1), px(y1), px(x1), px(middle),
      px(x2), px(middle), px(x2), px(y2));
}

void Svg::dot(double x, double y, const std::string& kind) {
  add("<circle class=\"{}\" cx=\"{:g}\" cy=\"{:g}\" r=\"2.5\"/>", kind, px(x), px(y));
}

void Svg::marker(double x, double y, int shape, const std::string& kind) {
  static const std::array shapes = {"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
                                    "m-3-3h6v6h-6z",
                                    "m0-4l4 7h-8z",
                                    "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
                                    "m0 4l4-7h-8z",
                                    "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"};
  add("<path class=\"{}\" d=\"M{:g} {:g}{}\"/>", kind, px(x), px(y),
      shapes[static_cast<std::size_t>(shape) % shapes.size()]);
}

void Svg::begin_group(const char* kind) { add("<g class=\"{}\">", kind); }
void Svg::end_group() { add("</g>"); }

std::string Svg::finish(double width, double height, const std::string& title, const std::string& rules,
                        const std::string& dark_rules) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\" "
      "role=\"img\">\n  <title>{2}</title>\n  <style>{3}  @media (prefers-color-scheme: dark) {{{4}  }}\n"
      "  </style>\n  <rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"{5:g}\" height=\"{6:g}\" rx=\"6\"/>\n{7}</svg>\n",
      width, height, escaped(title), rules, dark_rules, width - 1, height - 1, parts_);
}

}  // namespace learn
