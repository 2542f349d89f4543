#include <fmt/format.h>
#include <learn/results.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace learn {
namespace {

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

/// "268435456" → "268 435 456"
std::string grouped(const std::string& digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ' ';
    text += digits[i];
  }
  return text;
}

/// The number behind "rows:" in "…/rows:512/cols:4096/…", or nothing.
std::string parameter(const std::vector<std::string>& parts, const std::string& name) {
  for (const std::string& part : parts)
    if (part.starts_with(name + ":")) return part.substr(name.size() + 1);
  return "";
}

/// Two digits, however small it is.
std::string fraction(double of_copy) {
  return of_copy < 0.1 ? fmt::format("{:.2g}", of_copy) : fmt::format("{:.2f}", of_copy);
}

/// A stored run of a benchmark program on a GPU.
nlohmann::json parsed(const std::string& json) {
  nlohmann::json stored = nlohmann::json::parse(json);
  if (stored.at("context").at("backend") != "cuda")
    throw std::runtime_error("a table of results needs a run on a GPU, and this one counted on a CPU.");
  return stored;
}

std::string measured_on(const nlohmann::json& context) {
  return fmt::format("Measured on one {}, driver {}, {}, {}, commit {}.\n", context.at("card").get<std::string>(),
                     split(context.at("driver").get<std::string>(), ',').front(),
                     context.at("toolkit").get<std::string>(), context.at("date").get<std::string>().substr(0, 10),
                     context.at("commit").get<std::string>());
}

/// "warm" of "…/warm_L2/…".
std::string cache_of(const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (part.ends_with("_L2")) return part.substr(0, part.size() - 3);
  return "";
}

/// The lines whose names hold `part`.
std::string fractions_of(const std::vector<std::string>& jsons, const std::string& part);

}  // namespace

std::string results_table(const std::string& json) {
  const auto stored = parsed(json);
  std::string table = "| kernel | size | L2 | median ms | GB/s | of a copy |\n|---|---|---|---|---|---|\n";
  for (const auto& benchmark : stored.at("benchmarks")) {
    if (benchmark.contains("error_occurred")) continue;
    const std::vector<std::string> parts = split(benchmark.at("name").get<std::string>(), '/');
    const std::string count = parameter(parts, "count"), rows = parameter(parts, "rows");
    const std::string size = count.empty() ? grouped(rows) + " × " + grouped(parameter(parts, "cols")) : grouped(count);
    table += fmt::format("| `{}` | {} | {} | {:.4f} | {:.0f} | {} |\n", parts.front(), size, cache_of(parts),
                         benchmark.at("median_ms").get<double>(), benchmark.at("GB/s").get<double>(),
                         fraction(benchmark.at("of_copy").get<double>()));
  }
  return table + "\n" + measured_on(stored.at("context"));
}

std::string fractions_table(const std::vector<std::string>& jsons) { return fractions_of(jsons, ""); }

std::string ladder_table(const std::vector<std::string>& jsons) { return fractions_of(jsons, "::"); }

namespace {

std::string fractions_of(const std::vector<std::string>& jsons, const std::string& part) {
  struct Line {
    std::string kernel;
    std::map<std::int64_t, double> of_copy;  // by cols
  };
  std::vector<Line> lines;
  std::map<std::int64_t, double> best;  // by cols
  std::vector<std::string> machines;
  for (const std::string& json : jsons) {
    const auto stored = parsed(json);
    const std::string machine = measured_on(stored.at("context"));
    if (std::find(machines.begin(), machines.end(), machine) == machines.end()) machines.push_back(machine);
    for (const auto& benchmark : stored.at("benchmarks")) {
      if (benchmark.contains("error_occurred")) continue;
      const std::vector<std::string> parts = split(benchmark.at("name").get<std::string>(), '/');
      const std::string cols_text = parameter(parts, "cols");
      if (cols_text.empty() || cache_of(parts) != "cold" || parts.front().find(part) == std::string::npos) continue;
      const std::int64_t cols = std::stoll(cols_text);
      const double of_copy = benchmark.at("of_copy").get<double>();
      if (lines.empty() || lines.back().kernel != parts.front()) lines.push_back({parts.front(), {}});
      lines.back().of_copy[cols] = of_copy;
      best[cols] = std::max(best[cols], of_copy);
    }
  }
  if (lines.empty()) throw std::runtime_error("these results hold no kernel that was measured on rows with a cold L2.");

  std::string head = "| kernel |", rule = "|---|", body;
  for (const auto& [cols, highest] : best) {
    head += " " + grouped(std::to_string(cols)) + " |";
    rule += "---|";
  }
  for (const Line& line : lines) {
    body += "| `" + line.kernel + "` |";
    for (const auto& [cols, highest] : best) {
      const auto cell = line.of_copy.find(cols);
      const std::string text = cell == line.of_copy.end() ? "" : fraction(cell->second);
      body += text == fraction(highest) ? " **" + text + "** |" : " " + text + " |";
    }
    body += "\n";
  }
  std::string table = head + "\n" + rule + "\n" + body + "\n";
  for (const std::string& machine : machines) table += machine;
  return table;
}

}  // namespace
}  // namespace learn
