#include <fmt/format.h>
#include <learn/results.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

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

}  // namespace

std::string results_table(const std::string& json) {
  const auto stored = nlohmann::json::parse(json);
  const auto& context = stored.at("context");
  if (context.at("backend") != "cuda")
    throw std::runtime_error("a table of results needs a run on a GPU, and this one counted on a CPU.");

  std::string table = "| kernel | size | L2 | median ms | GB/s | of a copy |\n|---|---|---|---|---|---|\n";
  for (const auto& benchmark : stored.at("benchmarks")) {
    const std::vector<std::string> parts = split(benchmark.at("name").get<std::string>(), '/');
    const std::string count = parameter(parts, "count"), rows = parameter(parts, "rows");
    const std::string size = count.empty() ? grouped(rows) + " × " + grouped(parameter(parts, "cols")) : grouped(count);
    std::string cache;
    for (const std::string& part : parts)
      if (part.ends_with("_L2")) cache = part.substr(0, part.size() - 3);
    table += fmt::format("| `{}` | {} | {} | {:.4f} | {:.0f} | {} |\n", parts.front(), size, cache,
                         benchmark.at("median_ms").get<double>(), benchmark.at("GB/s").get<double>(),
                         fraction(benchmark.at("of_copy").get<double>()));
  }
  return table +
         fmt::format("\nMeasured on one {}, driver {}, {}, {}, commit {}.\n", context.at("card").get<std::string>(),
                     split(context.at("driver").get<std::string>(), ',').front(),
                     context.at("toolkit").get<std::string>(), context.at("date").get<std::string>().substr(0, 10),
                     context.at("commit").get<std::string>());
}

}  // namespace learn
