#include <learn/profile_table.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <tuple>

namespace learn {
namespace {

using simt::AccessCounts;
using simt::BufferCounts;
using simt::KernelProfile;
using simt::LaneDistance;
using simt::LineCounts;

constexpr std::size_t text_columns = 100;
constexpr unsigned lanes_per_warp = 32;

/// The share of its sectors from which on a line is said to read again. Where rows do not begin at a sector, two
/// requests side by side share one of five: that is told as needless sectors.
constexpr double worth_telling = 0.25;

double ratio(std::uint64_t part, std::uint64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

/// One decimal where it is not a whole number: "32", "4.5".
std::string number(double value) {
  const std::string text = fmt::format("{:.1f}", value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.0f} %", 100 * ratio(part, whole));
}

bool is_whole(double value) { return value == std::floor(value); }

/// "4 bytes", "16 KB"
std::string distance_text(std::int64_t bytes) {
  const std::int64_t size = std::abs(bytes);
  if (size >= 1024 && size % 1024 == 0) return fmt::format("{} KB", size / 1024);
  return fmt::format("{} byte{}", size, size == 1 ? "" : "s");
}

/// Why the lanes of a request do not fit into the ideal number of sectors or wavefronts; empty if the counts do not
/// tell.
std::string reason(const LineCounts& line) {
  const LaneDistance& distance = line.distance;
  if (distance.kind == LaneDistance::none) return "";
  if (distance.kind == LaneDistance::several) return ": the distances between neighbouring lanes differ";
  if (distance.bytes == line.lane_bytes && !line.shared)
    return ": they lie side by side, but do not begin at a multiple of 32 bytes";
  return fmt::format(": neighbouring lanes {} {} apart", line.store ? "write" : "read", distance_text(distance.bytes));
}

std::uint64_t beyond(std::uint64_t count, std::uint64_t ideal) { return count > ideal ? count - ideal : 0; }

std::uint64_t needless(const AccessCounts& counts) {
  return beyond(counts.sectors, counts.ideal_sectors) + beyond(counts.wavefronts, counts.ideal_wavefronts);
}

/// The accesses of one source line, and how bad they are together.
struct SourceLine {
  std::vector<const LineCounts*> accesses;
  std::uint64_t needless = 0, requests = 0;

  void add(const LineCounts& access) {
    accesses.push_back(&access);
    needless += learn::needless(access.counts);
    requests += access.counts.requests;
  }
};

std::vector<SourceLine> worst_first(const KernelProfile& kernel) {
  std::vector<SourceLine> lines;
  for (const LineCounts& access : kernel.lines) {  // by file and line
    const bool same = !lines.empty() && lines.back().accesses.front()->line == access.line &&
                      lines.back().accesses.front()->file == access.file;
    if (!same) lines.emplace_back();
    lines.back().add(access);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const SourceLine& a, const SourceLine& b) {
    return std::tie(a.needless, a.requests) > std::tie(b.needless, b.requests);
  });
  for (SourceLine& line : lines) {
    std::stable_sort(line.accesses.begin(), line.accesses.end(), [](const LineCounts* a, const LineCounts* b) {
      return std::pair(needless(a->counts), a->counts.requests) > std::pair(needless(b->counts), b->counts.requests);
    });
  }
  return lines;
}

const char* access_word(const LineCounts& line) { return line.store ? "store" : "load"; }

/// Cut to so many characters, the last of them "…"; UTF-8 stores a character in one or more bytes.
std::string cut(const std::string& text, std::size_t characters) {
  std::size_t count = 0, kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) == 0x80) continue;  // goes on with a character
    if (++count == characters) kept = i;
  }
  return count <= characters ? text : text.substr(0, kept) + "…";
}

/// A line of a table: empty cells at its end leave no spaces.
std::string row(const std::string& cells) { return cells.substr(0, cells.find_last_not_of(' ') + 1) + "\n"; }

/// Whole words, each line at most text_columns wide and indented by four.
std::string wrapped(const std::string& sentence) {
  std::string text, line = "   ";
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t end = std::min(sentence.find(' ', at), sentence.size());
    if (line.size() + 1 + (end - at) > text_columns) {
      text += line + "\n";
      line = "     ";
    }
    line += " " + sentence.substr(at, end - at);
    at = end + 1;
  }
  return text + line + "\n";
}

std::string cell_row(const LineCounts& line) {
  const AccessCounts& c = line.counts;
  const auto each = [&](std::uint64_t count) { return number(ratio(count, c.requests)); };
  const bool is_global_load = !line.shared && !line.store;
  return row(fmt::format("  {:<7}{:<15}{:>11}{:>8}{:>8}{:>10}{:>7}{:>8}{:>13}{:>7}", access_word(line),
                         cut(line.buffer, 14), c.requests, each(c.lanes), each(c.bytes),
                         line.shared ? "" : each(c.sectors), line.shared ? "" : each(c.ideal_sectors),
                         is_global_load ? percent(c.sectors_again, c.sectors) : "",
                         line.shared ? each(c.wavefronts) : "", line.shared ? each(c.ideal_wavefronts) : ""));
}

/// What loads or stores of a buffer asked for, what they touched, and how often they asked for each byte of that.
std::string buffer_cells(std::uint64_t asked, std::uint64_t touched) {
  if (asked == 0) return fmt::format("{:>16}{:>14}{:>8}", "", "", "");
  if (touched == 0) return fmt::format("{:>16}{:>14}{:>8}", asked, "", "");
  return fmt::format("{:>16}{:>14}{:>8}", asked, touched, number(ratio(asked, touched)));
}

std::string totals(const KernelProfile& kernel) {
  AccessCounts shared_loads, shared_stores;
  for (const LineCounts& line : kernel.lines) {
    if (line.shared) (line.store ? shared_stores : shared_loads) += line.counts;
  }
  std::string text =
      fmt::format("  {:<18}{:>38}{:>38}\n  {:<18}{:>16}{:>14}{:>8}{:>16}{:>14}{:>8}\n", "in bytes", "loads", "stores",
                  "buffer", "asked", "touched", "passes", "asked", "touched", "passes");
  for (const BufferCounts& b : kernel.buffers) {
    text += row(fmt::format("  {:<18}{}{}", cut(b.name, 17), buffer_cells(b.loads.bytes, b.bytes_touched_by_loads),
                            buffer_cells(b.stores.bytes, b.bytes_touched_by_stores)));
  }
  if (shared_loads.requests + shared_stores.requests != 0) {
    text += row(fmt::format("  {:<18}{}{}", "shared", buffer_cells(shared_loads.bytes, 0),
                            buffer_cells(shared_stores.bytes, 0)));
  }
  return text;
}

/// "5120 barriers, 20 a block"
std::string per_block(std::uint64_t count, const char* what, std::uint64_t blocks) {
  if (count == 0) return fmt::format("no {}s", what);
  return fmt::format("{} {}{}, {} a block", count, what, count == 1 ? "" : "s", number(ratio(count, blocks)));
}

}  // namespace

std::vector<std::string> remarks(const LineCounts& line) {
  const AccessCounts& c = line.counts;
  const auto each = [&](std::uint64_t count) { return ratio(count, c.requests); };
  const double lanes = each(c.lanes), sectors = each(c.sectors), wavefronts = each(c.wavefronts);
  std::vector<std::string> sentences;

  if (c.sectors > c.ideal_sectors) {
    const double ideal = each(c.ideal_sectors);
    const bool exact = is_whole(lanes) && is_whole(sectors) && is_whole(ideal);
    sentences.push_back(fmt::format("{}{} lane{} asked for {} sectors where {} would do{}.", exact ? "" : "On average ",
                                    number(lanes), lanes == 1 ? "" : "s", number(sectors), number(ideal),
                                    reason(line)));
  }
  if (c.wavefronts > c.ideal_wavefronts) {
    const double ideal = each(c.ideal_wavefronts), ways = wavefronts / ideal;
    const bool exact = is_whole(wavefronts) && is_whole(ideal) && is_whole(ways);
    sentences.push_back(exact ? fmt::format("{}-way bank conflict, {} wavefronts where {} would do{}.", number(ways),
                                            number(wavefronts), number(ideal), reason(line))
                              : fmt::format("Bank conflicts, on average {} wavefronts where {} would do{}.",
                                            number(wavefronts), number(ideal), reason(line)));
  }
  if (c.sectors_again != 0 && ratio(c.sectors_again, c.sectors) >= worth_telling) {
    sentences.push_back(fmt::format("This line reads again what its block had read before: {} of its sectors.",
                                    percent(c.sectors_again, c.sectors)));
  }
  if (lanes < lanes_per_warp / 2.0) {
    sentences.push_back(fmt::format("{} of {} lanes take{} part.",
                                    is_whole(lanes) ? number(lanes) : "On average " + number(lanes), lanes_per_warp,
                                    lanes == 1 ? "s" : ""));
  }
  return sentences;
}

std::string profile_text(const KernelProfile& kernel, const SourceLines& source) {
  std::string text = fmt::format("{}, {} block{}\n", kernel.kernel, kernel.blocks, kernel.blocks == 1 ? "" : "s");
  if (kernel.lines.empty()) return text + "  It asked memory for nothing.\n";
  text += fmt::format("  {:<33}{:>25}\n"
                      "  {:<7}{:<15}{:>11}{:>8}{:>8}{:>10}{:>7}{:>8}{:>13}{:>7}\n",
                      "", "of a request, on average", "", "buffer", "requests", "lanes", "bytes", "sectors", "ideal",
                      "again", "wavefronts", "ideal");
  for (const SourceLine& line : worst_first(kernel)) {
    const LineCounts& first = *line.accesses.front();
    text += fmt::format("{}:{}\n", first.file, first.line);
    const std::string code = source(first.file, first.line);
    if (!code.empty()) text += fmt::format("    {}\n", cut(code, text_columns - 4));
    for (const LineCounts* access : line.accesses) {
      text += cell_row(*access);
      for (const std::string& sentence : remarks(*access)) text += wrapped(sentence);
    }
  }
  return text + "\n" + totals(kernel) +
         fmt::format("  {}; {}; {}\n", per_block(kernel.barriers, "barrier", kernel.blocks),
                     per_block(kernel.warp_barriers, "warp barrier", kernel.blocks),
                     per_block(kernel.shuffles, "shuffle", kernel.blocks));
}

std::string profile_legend() {
  return "requests    memory instructions, one for a warp of 32 threads\n"
         "lanes       threads of the warp that take part\n"
         "bytes       what they ask for together\n"
         "sectors     of 32 bytes that a request touches in global memory; ideal: as few as hold its bytes\n"
         "again       of the sectors loaded, those that the same block had loaded before\n"
         "wavefronts  rounds in which shared memory serves a request; beyond the ideal: bank conflicts\n"
         "touched     distinct 32-byte sectors of the launch: what even a perfect cache must move\n"
         "passes      asked over touched\n"
         "\n"
         "These are counts of what a kernel asks for, a model of a GPU, and not time: a sector that is asked\n"
         "for again may come from a cache. Counts are inexact where the lanes of a warp leave a loop at\n"
         "different times, or where a condition alternates from one turn of a loop to the next:\n"
         "common/simt/README.md says more under Limits.\n";
}

nlohmann::ordered_json profile_json(const KernelProfile& kernel, const SourceLines& source) {
  using Json = nlohmann::ordered_json;
  const auto counts_json = [](const AccessCounts& c) {
    return Json{{"requests", c.requests},
                {"lanes", c.lanes},
                {"bytes", c.bytes},
                {"sectors", c.sectors},
                {"ideal_sectors", c.ideal_sectors},
                {"sectors_again", c.sectors_again},
                {"wavefronts", c.wavefronts},
                {"ideal_wavefronts", c.ideal_wavefronts}};
  };
  Json lines = Json::array(), buffers = Json::array();
  for (const SourceLine& line : worst_first(kernel)) {
    for (const LineCounts* access : line.accesses) {
      Json distance;  // null where there is not one
      if (access->distance.kind == LaneDistance::one) distance = access->distance.bytes;
      lines.push_back({{"file", access->file},
                       {"line", access->line},
                       {"source", source(access->file, access->line)},
                       {"access", access_word(*access)},
                       {"space", access->shared ? "shared" : "global"},
                       {"buffer", access->buffer},
                       {"bytes_per_lane", access->lane_bytes},
                       {"counts", counts_json(access->counts)},
                       {"lane_distance", distance},
                       {"remarks", remarks(*access)}});
    }
  }
  for (const BufferCounts& b : kernel.buffers) {
    buffers.push_back({{"name", b.name},
                       {"loads", counts_json(b.loads)},
                       {"stores", counts_json(b.stores)},
                       {"bytes_touched_by_loads", b.bytes_touched_by_loads},
                       {"bytes_touched_by_stores", b.bytes_touched_by_stores}});
  }
  return {{"kernel", kernel.kernel},     {"blocks", kernel.blocks},
          {"barriers", kernel.barriers}, {"warp_barriers", kernel.warp_barriers},
          {"shuffles", kernel.shuffles}, {"lines", lines},
          {"buffers", buffers}};
}

}  // namespace learn
