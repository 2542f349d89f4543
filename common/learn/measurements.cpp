#include <learn/measurements.h>

#include <fmt/format.h>
#include <learn/files.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace learn {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Kernel, size and cache of "n::norm/rows:512/cols:4096/cold_L2/iterations:20/manual_time". A name may hold slashes
/// of its own only if no part behind them looks like one of these.
Measurement point_of(const std::string& name) {
  Measurement point;
  const std::vector<std::string> parts = split(name, '/');
  point.kernel = parts.front();
  for (const std::string& part : parts) {
    const auto number = [&](const char* parameter, std::int64_t& value) {
      if (part.starts_with(parameter)) value = std::stoll(part.substr(std::string(parameter).size()));
    };
    number("rows:", point.rows);
    number("cols:", point.cols);
    number("count:", point.count);
    if (part.ends_with("_L2")) point.cache = part.substr(0, part.size() - 3);
  }
  return point;
}

/// Why it has no time; empty if it has one.
std::string reason_of(const nlohmann::json& benchmark) {
  const auto said = [&](const char* key) { return split(benchmark.at(key).get<std::string>(), '\n').front(); };
  for (const char* reason : {"wrong", "refused"}) {
    if (benchmark.contains(reason)) return fmt::format("{}: {}", reason, said(reason));
  }
  return benchmark.value("error_occurred", false) ? "failed: " + said("error_message") : "";
}

std::string machine_of(const nlohmann::json& context) {
  const auto word = [&](const char* key) { return context.at(key).get<std::string>(); };
  return fmt::format("one {}, driver {}, {}, {}, commit {}", word("card"), split(word("driver"), ',').front(),
                     word("toolkit"), word("date").substr(0, 10), word("commit"));
}

Measurements read(const nlohmann::json& stored, const std::string& file) {
  const nlohmann::json& context = stored.at("context");
  if (context.at("backend") != "cuda")
    throw std::runtime_error("results need a run on a GPU, and this one counted on a CPU");
  Measurements result{.file = file,
                      .card = context.at("card"),
                      .machine = machine_of(context),
                      .points = {},
                      .left_out = {},
                      .versions = {},
                      .absent = {}};
  if (context.contains("peers")) context.at("peers").get_to(result.versions);
  if (context.contains("absent")) result.absent = context.at("absent").get<std::vector<std::string>>();
  for (const nlohmann::json& benchmark : stored.at("benchmarks")) {
    Measurement point = point_of(benchmark.at("name").get<std::string>());
    const std::string reason = reason_of(benchmark);
    if (!reason.empty()) {
      result.left_out.push_back({std::move(point), reason});
      continue;
    }
    point.median_ms = benchmark.at("median_ms").get<double>();
    point.gigabytes_per_second = benchmark.at("GB/s").get<double>();
    point.of_copy = benchmark.at("of_copy").get<double>();
    if (!(point.median_ms > 0)) throw std::runtime_error(point.kernel + " took no time");
    result.points.push_back(std::move(point));
  }
  return result;
}

bool same_point(const Measurement& a, const Measurement& b) {
  return a.kernel == b.kernel && a.rows == b.rows && a.cols == b.cols && a.count == b.count && a.cache == b.cache;
}

}  // namespace

std::string Measurement::size() const { return count != 0 ? grouped(count) : grouped(rows) + " × " + grouped(cols); }

std::vector<Gap> gaps(const std::vector<LeftOut>& left_out) {
  std::vector<Gap> result;
  std::vector<std::size_t> sizes;
  for (const LeftOut& left : left_out) {
    const auto known = std::find_if(result.begin(), result.end(), [&](const Gap& gap) {
      return gap.kernel == left.point.kernel && gap.reason == left.reason;
    });
    if (known == result.end()) {
      result.push_back({left.point.kernel, left.point.size(), left.reason});
      sizes.push_back(1);
    } else {
      known->where = fmt::format("{} sizes", ++sizes[static_cast<std::size_t>(known - result.begin())]);
    }
  }
  return result;
}

bool Repeated::noisy() const { return !(std::abs(difference()) <= most_difference); }

void Largest::add(const Measurement& point) {
  std::int64_t& most = elements_[{point.cache, point.cols}];
  most = std::max(most, point.elements());
}

bool Largest::has(const Measurement& point) const {
  return elements_.at({point.cache, point.cols}) == point.elements();
}

Measurements measurements(const std::string& json, const std::string& file) {
  try {
    return read(nlohmann::json::parse(json), file);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{} cannot be used as a benchmark's result: {}.", file, error.what()));
  }
}

Measurements stored_measurements(const fs::path& file) {
  Measurements stored = measurements(read_text(file), file.string());
  const fs::path second = file.parent_path() / "second" / file.filename();
  if (!fs::exists(second)) return stored;
  for (const Repeated& both : repeated(stored, measurements(read_text(second), second.string()))) {
    if (!both.noisy()) continue;
    for (Measurement& point : stored.points) point.noisy = point.noisy || same_point(point, both.first);
  }
  return stored;
}

std::vector<Repeated> repeated(const Measurements& first, const Measurements& second) {
  std::vector<Repeated> result;
  for (const Measurement& point : first.points) {
    const auto again = std::find_if(second.points.begin(), second.points.end(),
                                    [&](const Measurement& other) { return same_point(point, other); });
    if (again == second.points.end()) continue;
    if (std::min(point.median_ms, again->median_ms) > least_compared_ms) result.push_back({point, *again});
  }
  return result;
}

std::string peer_of(const std::string& kernel) {
  const std::size_t colon = kernel.find(": ");
  // "REFERENCE: exercise::layer_norm" is an exercise's.
  return colon == std::string::npos || kernel.find("::") != std::string::npos ? "" : kernel.substr(0, colon);
}

std::string operation_of(const std::string& kernel) {
  const std::string peer = peer_of(kernel);
  if (!peer.empty()) {
    std::string operation = kernel.substr(peer.size() + 2);
    std::replace(operation.begin(), operation.end(), ' ', '_');
    return operation;
  }
  const std::size_t colons = kernel.find("::");
  // "backward::layer_norm_separate, dx alone" is a part of an operation.
  if (colons == std::string::npos || kernel.find(' ') != std::string::npos) return "";
  const std::string chapter = kernel.substr(0, colons), name = kernel.substr(colons + 2);
  if (chapter == "copy") return "copy";
  for (const char* norm : {"layer_norm", "rms_norm"}) {
    if (name.starts_with(norm)) return chapter == "backward" ? fmt::format("{}_backward", norm) : norm;
  }
  return "";
}

std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ' ';
    text += digits[i];
  }
  return text;
}

std::string fraction(double of_copy) {
  return of_copy < 0.1 ? fmt::format("{:#.2g}", of_copy) : fmt::format("{:.2f}", of_copy);
}

}  // namespace learn
