#include <learn/results.h>

#include <fmt/format.h>
#include <learn/files.h>
#include <learn/marks.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace learn {
namespace {

namespace fs = std::filesystem;

/// Whether a table has this point.
using Belongs = std::function<bool(const Measurement&)>;

/// The numbers of columns that a table has room for.
bool in_tables(std::int64_t cols) {
  static const std::set<std::int64_t> shown = {256, 1024, 2048, 4096, 8192, 16384, 65536};
  return shown.contains(cols);
}

/// Of the points that belong to a table.
Largest largest_of(const std::vector<Measurements>& results, const Belongs& belongs) {
  Largest largest;
  for (const Measurements& file : results) {
    for (const Measurement& point : file.points) {
      if (belongs(point)) largest.add(point);
    }
  }
  return largest;
}

std::string marked(const std::string& figure, const Measurement& point) { return figure + (point.noisy ? "~" : ""); }

const char* const noise_words = "`~`: the median of a second run differs by more than 3 %.\n";

/// What stands below a table: the machines, what `~` means, what has no figure and why.
std::string below(const std::vector<Measurements>& results, bool noisy, const Belongs& belongs) {
  std::string text;
  std::vector<std::string> machines;
  for (const Measurements& file : results) {
    if (std::find(machines.begin(), machines.end(), file.machine) == machines.end()) machines.push_back(file.machine);
  }
  for (const std::string& machine : machines) text += "Measured on " + machine + ".\n";
  if (noisy) text += noise_words;

  std::vector<LeftOut> left_out;
  for (const Measurements& file : results) {
    for (const LeftOut& left : file.left_out) {
      if (belongs(left.point)) left_out.push_back(left);
    }
  }
  if (!left_out.empty()) text += "\nWithout a figure:\n\n";
  for (const Gap& gap : gaps(left_out)) text += fmt::format("* `{}` on {}: {}\n", gap.kernel, gap.where, gap.reason);
  return text;
}

/// Fractions of a copy of the kernels that belong to the table: kernels × columns.
std::string fractions_of(const std::vector<Measurements>& results, const Belongs& belongs) {
  struct Line {
    std::string kernel;
    std::map<std::int64_t, Measurement> cells;  // by the number of columns; a copy's by its elements
  };
  const Largest largest = largest_of(results, belongs);
  std::vector<Line> lines;
  std::map<std::int64_t, double> best;
  bool noisy = false;
  for (const Measurements& file : results) {
    const std::size_t first = lines.size();
    for (const Measurement& point : file.points) {
      if (point.cache != "cold" || !belongs(point) || !largest.has(point)) continue;
      const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(first);
      auto line = std::find_if(begin, lines.end(), [&](const Line& other) { return other.kernel == point.kernel; });
      if (line == lines.end()) line = lines.insert(line, {point.kernel, {}});
      const std::int64_t column = point.cols != 0 ? point.cols : point.count;
      line->cells[column] = point;
      best[column] = std::max(best[column], point.of_copy);
      noisy = noisy || point.noisy;
    }
  }
  if (lines.empty()) throw std::runtime_error("these results hold no kernel that was measured on rows with a cold L2.");

  std::string head = "| kernel |", rule = "|---|", body;
  for (const auto& [column, highest] : best) {
    head += " " + grouped(column) + " |";
    rule += "---|";
  }
  for (const Line& line : lines) {
    body += "| `" + line.kernel + "` |";
    for (const auto& [column, highest] : best) {
      const auto cell = line.cells.find(column);
      if (cell == line.cells.end()) {
        body += "  |";
        continue;
      }
      const std::string figure = fraction(cell->second.of_copy);
      body += " " + marked(figure == fraction(highest) ? "**" + figure + "**" : figure, cell->second) + " |";
    }
    body += "\n";
  }
  return head + "\n" + rule + "\n" + body + "\n" + below(results, noisy, belongs);
}

}  // namespace

KernelFilter::KernelFilter(const std::string& words_with_commas) {
  std::istringstream words(words_with_commas);
  for (std::string word; std::getline(words, word, ',');) words_.push_back(word);
}

bool KernelFilter::shows(const std::string& kernel) const {
  return words_.empty() ||
         std::any_of(words_.begin(), words_.end(), [&](const std::string& word) { return kernel.starts_with(word); });
}

void KernelFilter::require_all_used(const std::vector<std::string>& kernels) const {
  for (const std::string& word : words_) {
    if (std::none_of(kernels.begin(), kernels.end(),
                     [&](const std::string& kernel) { return kernel.starts_with(word); }))
      throw std::runtime_error(fmt::format("the table has no kernel whose name begins with '{}'.", word));
  }
}

std::string results_table(const Measurements& results) {
  const auto belongs = [](const Measurement& point) { return point.cols == 0 || in_tables(point.cols); };
  const Largest largest = largest_of({results}, belongs);
  std::string table = "| kernel | size | L2 | median ms | GB/s | of a copy |\n|---|---|---|---|---|---|\n";
  bool noisy = false;
  for (const Measurement& point : results.points) {
    if (!belongs(point) || !largest.has(point)) continue;
    table += fmt::format("| `{}` | {} | {} | {} | {:.0f} | {} |\n", point.kernel, point.size(), point.cache,
                         marked(fmt::format("{:.4f}", point.median_ms), point), point.gigabytes_per_second,
                         fraction(point.of_copy));
    noisy = noisy || point.noisy;
  }
  return table + "\n" + below({results}, noisy, belongs);
}

std::string fractions_table(const std::vector<Measurements>& results, const KernelFilter& only) {
  std::vector<std::string> kernels;
  for (const Measurements& file : results) {
    for (const Measurement& point : file.points) kernels.push_back(point.kernel);
  }
  only.require_all_used(kernels);
  return fractions_of(results,
                      [&](const Measurement& point) { return in_tables(point.cols) && only.shows(point.kernel); });
}

std::string ladder_table(const std::vector<Measurements>& results) {
  return fractions_of(results, [](const Measurement& point) {
    return in_tables(point.cols) && point.kernel.find("::") != std::string::npos;
  });
}

std::string peers_table(const std::string& operation, const Measurements& results) {
  std::string table = fractions_of({results}, [&](const Measurement& point) {
    return operation_of(point.kernel) == operation && (point.cols == 0 || in_tables(point.cols));
  });
  std::string versions;
  for (const auto& entry : results.versions) {
    const std::string& peer = entry.first;
    const bool shown = std::any_of(results.points.begin(), results.points.end(), [&](const Measurement& point) {
      return peer_of(point.kernel) == peer && operation_of(point.kernel) == operation;
    });
    if (!shown) continue;
    const char* const with = peer == "torch.compile" ? " with Triton" : "";  // which makes its kernels
    versions += fmt::format("{}{}{} {}", versions.empty() ? "" : ", ", peer, with, entry.second);
  }
  if (!versions.empty()) table += fmt::format("\nVersions: {}.\n", versions);
  if (!results.absent.empty()) table += fmt::format("\nAbsent: {}.\n", fmt::join(results.absent, "; "));
  return table;
}

std::string noise_table(const fs::path& folder) {
  if (!fs::is_directory(folder / "second"))
    throw std::runtime_error(fmt::format("{} holds no second run: there is no folder second.", folder.string()));
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  std::string lines, once, machines;
  std::set<std::string> known;
  std::size_t compared = 0, noisy = 0;
  for (const fs::path& file : files) {
    const fs::path again = folder / "second" / file.filename();
    if (!fs::exists(again)) {
      once += fmt::format("{}`{}`", once.empty() ? "" : ", ", file.filename().string());
      continue;
    }
    const Measurements first = measurements(read_text(file), file.string());
    const Measurements second = measurements(read_text(again), again.string());
    for (const auto& [run, results] : {std::pair{"First", &first}, {"Second", &second}}) {
      const std::string machine = fmt::format("{} run: measured on {}.\n", run, results->machine);
      if (known.insert(machine).second) machines += machine;
    }
    for (const Repeated& both : repeated(first, second)) {
      ++compared;
      if (!both.noisy()) continue;
      ++noisy;
      lines += fmt::format("| `{}` | {} | {} | {:.4f} | {:.4f} | {:+.1f} % |\n", both.first.kernel, both.first.size(),
                           both.first.cache, both.first.median_ms, both.second.median_ms, 100 * both.difference());
    }
  }
  std::string text = fmt::format(
      "Points that take longer than 100 µs in both runs: {}. Of them differ by more than 3 % in the median: {}.\n\n",
      compared, noisy);
  if (noisy != 0) {
    text += "| kernel | size | L2 | first, ms | second, ms | difference |\n|---|---|---|---|---|---|\n" + lines + "\n";
  }
  text += machines;
  if (!once.empty()) text += "Measured once: " + once + ".\n";
  return text;
}

std::string page_table(const fs::path& page, const KernelFilter& only) {
  std::string head, body, machine;
  std::vector<std::string> kernels;
  std::size_t tables = 0;
  bool in_table = false;
  for (const std::string& line : lines_of(read_text(page))) {
    if (line.starts_with('|') && !in_table) ++tables;
    in_table = line.starts_with('|');
    if (line.starts_with("| `")) {
      kernels.push_back(line.substr(3));
      if (only.shows(kernels.back())) body += line + '\n';
    } else if (in_table) {
      head += line + '\n';
    }
    for (const std::string word : {"card", "driver", "date", "commit"}) {
      if (!line.starts_with(word + ": ")) continue;
      const std::string value = line.substr(word.size() + 2, line.find_last_not_of(' ') - word.size() - 1);
      const bool is_bare = word == "card" || word == "date";
      machine += (machine.empty() ? "one " : ", ") + (is_bare ? value : word + ' ' + value);
    }
  }
  if (tables != 1 || kernels.empty() || machine.empty())
    throw std::runtime_error(
        fmt::format("{} is no page with one table of kernels and a line 'card: …'.", page.string()));
  only.require_all_used(kernels);
  return fmt::format("{}{}\nMeasured on {}.\n", head, body, machine);
}

std::string stored_table(const std::string& name, const fs::path& folder) {
  static const std::string mark = " only ";
  const std::size_t end = std::min(name.find(mark), name.size());
  const KernelFilter only(end == name.size() ? "" : name.substr(end + mark.size()));
  std::istringstream words(name.substr(0, end));
  std::string kind, operation;
  words >> kind;
  if (kind == "peers") words >> operation;
  const std::vector<std::string> files{std::istream_iterator<std::string>(words), {}};
  if (kind == "noise" && files.size() == 1 && only.empty()) return noise_table(folder / files.front());
  if (kind == "page" && files.size() == 1) return page_table(folder / (files.front() + ".md"), only);

  const bool takes_one = kind == "results" || kind == "peers", takes_several = kind == "fractions" || kind == "ladder";
  if (files.empty() || !(takes_several || (takes_one && files.size() == 1)) || !(only.empty() || kind == "fractions")) {
    throw std::runtime_error(
        fmt::format("there is no table '{1}'; the tables are 'chapters', 'reports not yet', 'results CARD/NAME', "
                    "'fractions CARD/NAME … [only WORD,…]', 'ladder CARD/NAME …' and 'peers OPERATION CARD/NAME', "
                    "for {0}/CARD/NAME.json, 'noise CARD', and 'page CARD/NAME [only WORD,…]' for "
                    "{0}/CARD/NAME.md.",
                    folder.string(), name));
  }
  std::vector<Measurements> results;
  for (const std::string& file : files) results.push_back(stored_measurements(folder / (file + ".json")));
  if (kind == "results") return results_table(results.front());
  if (kind == "peers") return peers_table(operation, results.front());
  return kind == "ladder" ? ladder_table(results) : fractions_table(results, only);
}

}  // namespace learn
