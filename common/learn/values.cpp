#include <learn/values.h>

#include <fmt/format.h>
#include <learn/measurements.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace learn {
namespace {

using Points = std::vector<Measurement>;

const char* const forms =
    "a mark is 'of_copy CARD/NAME KERNEL… SIZES', 'microseconds CARD/NAME KERNEL… SIZES' or "
    "'faster CARD/NAME KERNEL… than KERNEL SIZES'; SIZES are 4096, 256..16384 or 1×4096, or more of them with commas "
    "between them";

struct Mark {
  std::string kind, file, base, sizes, cache = "cold";
  std::vector<std::string> kernels;
};

Mark parsed(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> std::quoted(word);) words.push_back(word);
  const auto refuse = [&] { return std::runtime_error(fmt::format("'{}' names no figure; {}.", text, forms)); };
  const auto take_last = [&] {
    if (words.empty()) throw refuse();
    std::string last = words.back();
    words.pop_back();
    return last;
  };
  Mark mark;
  mark.sizes = take_last();
  if (mark.sizes == "warm") {
    mark.cache = "warm";
    mark.sizes = take_last();
  }
  if (words.size() >= 2 && words[words.size() - 2] == "than") {
    mark.base = take_last();
    words.pop_back();
  }
  if (words.size() < 3 || mark.sizes.empty()) throw refuse();
  mark.kind = words[0];
  mark.file = words[1];
  mark.kernels.assign(words.begin() + 2, words.end());
  const bool compares = mark.kind == "faster";
  if (!(compares || mark.kind == "of_copy" || mark.kind == "microseconds") || compares == mark.base.empty())
    throw refuse();
  return mark;
}

/// The columns of a matrix, the elements of a copy.
std::int64_t width(const Measurement& point) { return point.cols != 0 ? point.cols : point.count; }

/// The points of a kernel with this cache; there is at least one.
Points points_of(const std::string& kernel, const std::string& cache, const Measurements& results) {
  Points points;
  std::vector<std::string> kernels;
  for (const Measurement& point : results.points) {
    if (point.kernel == kernel && point.cache == cache) points.push_back(point);
    if (std::find(kernels.begin(), kernels.end(), point.kernel) == kernels.end()) kernels.push_back(point.kernel);
  }
  if (points.empty()) {
    throw std::runtime_error(fmt::format("{} holds nothing of '{}' with a {} L2; its kernels are '{}'.", results.file,
                                         kernel, cache, fmt::join(kernels, "', '")));
  }
  return points;
}

std::string sizes_of(const Points& points) {
  std::string sizes;
  for (const Measurement& point : points) sizes += (sizes.empty() ? "" : ", ") + point.size();
  return sizes;
}

/// Those of one size: "4096", "256..16384" or "1×4096".
Points points_at(const std::string& size, const std::string& kernel, const Mark& mark, const Measurements& results) {
  static const std::regex form(R"((\d{1,18})(?:(\.\.|×)(\d{1,18}))?)");
  std::smatch found;
  if (!std::regex_match(size, found, form)) throw std::runtime_error(fmt::format("'{}' is no size; {}.", size, forms));
  const std::int64_t first = std::stoll(found[1]), second = found[3].matched ? std::stoll(found[3]) : first;
  const bool is_matrix = found[2] == "×";
  const Points all = points_of(kernel, mark.cache, results);
  Largest largest;
  for (const Measurement& point : results.points) largest.add(point);
  Points points;
  std::copy_if(all.begin(), all.end(), std::back_inserter(points), [&](const Measurement& point) {
    if (is_matrix) return point.rows == first && point.cols == second;
    const bool is_copy = point.count != 0;
    return width(point) >= first && width(point) <= second && (is_copy || largest.has(point));
  });
  if (points.empty()) {
    throw std::runtime_error(fmt::format("{} holds no time of '{}' at {} with a {} L2{}; it has {}.", results.file,
                                         kernel, size, mark.cache, is_matrix ? "" : ", on the largest matrix",
                                         sizes_of(all)));
  }
  return points;
}

/// That of the base on the same matrix.
Measurement beside(const Measurement& point, const Mark& mark, const Measurements& results) {
  const Points all = points_of(mark.base, mark.cache, results);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Measurement& other) {
    return other.rows == point.rows && other.cols == point.cols && other.count == point.count;
  });
  if (found == all.end()) {
    throw std::runtime_error(fmt::format("{} holds no time of '{}' on {} with a {} L2; it has {}.", results.file,
                                         mark.base, point.size(), mark.cache, sizes_of(all)));
  }
  return *found;
}

/// A whole number as the prose has it.
std::string whole(double number) {
  const std::int64_t rounded = std::llround(number);
  const std::string digits =
      std::abs(rounded) < 10'000 ? std::to_string(std::abs(rounded)) : grouped(std::abs(rounded));
  return (rounded < 0 ? "−" : "") + digits;
}

std::string written(const std::string& kind, double number) {
  if (kind == "of_copy") return fraction(number);
  if (kind == "faster") return whole(number);
  return number < 9.95 ? fmt::format("{:.1f}", number) : whole(number);
}

}  // namespace

Value stored_value(const std::string& text, const std::filesystem::path& folder) {
  const Mark mark = parsed(text);
  const Measurements results = stored_measurements(folder / (mark.file + ".json"));
  std::vector<double> numbers;
  for (const std::string& kernel : mark.kernels) {
    std::istringstream sizes(mark.sizes);
    for (std::string size; std::getline(sizes, size, ',');) {
      for (const Measurement& point : points_at(size, kernel, mark, results)) {
        if (mark.kind == "of_copy") numbers.push_back(point.of_copy);
        if (mark.kind == "microseconds") numbers.push_back(1000 * point.median_ms);
        if (mark.kind == "faster")
          numbers.push_back(100 * (beside(point, mark, results).median_ms / point.median_ms - 1));
      }
    }
  }
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  const std::string low = written(mark.kind, *least), high = written(mark.kind, *most);
  const std::string unit = mark.kind == "faster" ? " %" : "";
  return {(low == high ? low : low + " to " + high) + unit, numbers.size() > 1};
}

}  // namespace learn
