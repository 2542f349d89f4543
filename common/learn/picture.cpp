#include <learn/picture.h>

#include <fmt/format.h>
#include <learn/exit_codes.h>
#include <learn/files.h>
#include <learn/marks.h>
#include <learn/svg.h>
#include <simt/symbols.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>

namespace learn {
namespace {

// ---- The page: widths in pixels. Everything stands between left and left + inner.

constexpr double left = 24, inner = 768, page_width = left + inner + left;
constexpr unsigned lanes = simt::lanes_per_warp;
constexpr double lane_width = inner / lanes;

// One scale for every request, so that what is covered can be compared by eye: 32 sectors that lie apart fill the row.
constexpr double sector_width = 20, sector_gap = 4;

constexpr const char* style = R"(
  text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .small { font-size: 11px; } .strong { font-weight: 600; } .title { font-size: 15px; font-weight: 600; }
  .code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
  .muted { fill: #59636e; } .page { fill: #ffffff; stroke: #d1d9e0; }
  .plain { fill: #f6f8fa; stroke: #8c959f; } .fetched { fill: #d1d9e0; } .edge { fill: none; stroke: #59636e; }
  .idle { fill: #f6f8fa; } .line { stroke: #d1d9e0; fill: none; }
  .global { fill: #ddf4ff; stroke: #0969da; } .shared { fill: #dafbe1; stroke: #1a7f37; }
  .shuffle { fill: #fff1e5; stroke: #bc4c00; } .barrier { stroke: #bc4c00; stroke-dasharray: 6 4; fill: none; }
  .lane { fill: currentColor; } .fan { stroke: currentColor; fill: none; } .number { fill: #ffffff; })";

constexpr const char* dark_style = R"(
    text { fill: #e6edf3; } .muted { fill: #9198a1; } .page { fill: #0d1117; stroke: #3d444d; }
    .plain { fill: #151b23; stroke: #656c76; } .fetched { fill: #3d444d; } .edge { stroke: #9198a1; }
    .idle { fill: #151b23; } .line { stroke: #3d444d; }
    .global { fill: #0c2d6b; stroke: #58a6ff; } .shared { fill: #033a16; stroke: #3fb950; }
    .shuffle { fill: #5a1e02; stroke: #f0883e; } .barrier { stroke: #f0883e; } .number { fill: #0d1117; })";

struct Colour {
  int red, green, blue;
};

/// The colour of each lane, from the first to the last over the middle one.
std::string lane_colours(Colour first, Colour middle, Colour last) {
  std::string rules;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const double at = 2.0 * lane / (lanes - 1);
    const Colour &from = at < 1 ? first : middle, &to = at < 1 ? middle : last;
    const auto mix = [&](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * (at < 1 ? at : at - 1))); };
    rules += fmt::format(".l{} {{ color: #{:02x}{:02x}{:02x}; }}{}", lane, mix(from.red, to.red),
                         mix(from.green, to.green), mix(from.blue, to.blue), lane % 4 == 3 ? "\n" : " ");
  }
  return rules;
}

/// The first characters of a text in UTF-8, with … where some are missing.
std::string shortened(const std::string& text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) == 0x80) continue;
    if (++characters > most) return text.substr(0, i) + "…";
  }
  return text;
}

// ---- Words

/// "16 384": digits in groups of three from five digits on.
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::ptrdiff_t digits_begin = number < 0 ? 1 : 0;
  if (std::ssize(text) - digits_begin < 5) return text;
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > digits_begin; at -= 3)
    text.insert(static_cast<std::size_t>(at), " ");
  return text;
}

std::string plural(std::uint64_t count, const std::string& word) {
  return fmt::format("{} {}{}", grouped(static_cast<std::int64_t>(count)), word, count == 1 ? "" : "s");
}

/// "16 KB", "1000 bytes"
std::string distance(std::int64_t bytes) {
  if (bytes % 1024 == 0) return grouped(bytes / 1024) + " KB";
  return plural(static_cast<std::uint64_t>(bytes), "byte");
}

/// A count that fits a bar.
std::string short_count(std::uint64_t count) {
  return count < 10000 ? std::to_string(count) : std::to_string((count + 500) / 1000) + "k";
}

/// "copy.cuh:24   y[i] = x[i];", with spaces that SVG keeps.
std::string quoted(const std::string& place, const std::string& line) {
  return place + "\u00a0\u00a0\u00a0" + shortened(line, 88);
}

/// Source lines, each file read once.
class Sources {
public:
  explicit Sources(std::filesystem::path root) : root_(std::move(root)) {}

  /// "copy.cuh:27", and the line without its indentation.
  std::pair<std::string, std::string> at(const std::string& file, int line) {
    const std::filesystem::path path(file);
    const auto [entry, is_new] = files_.try_emplace(file);
    if (is_new && std::filesystem::exists(root_ / path)) entry->second = lines_of(read_text(root_ / path));
    const auto& lines = entry->second;
    std::string text;
    if (line >= 1 && static_cast<std::size_t>(line) <= lines.size()) text = lines[static_cast<std::size_t>(line) - 1];
    text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
    return {fmt::format("{}:{}", path.filename().string(), line), text};
  }

private:
  std::filesystem::path root_;
  std::map<std::string, std::vector<std::string>> files_;
};

std::string lane_class(int lane, const char* kind) { return fmt::format("l{} {}", lane, kind); }

// ---- A request: its lanes, its memory, and a curve from each lane to where it reads or writes

constexpr double lane_height = 16, fan_height = 30, memory_height = 20;

void draw_lanes(Svg& svg, double y, unsigned mask) {
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const double x = left + lane * lane_width;
    const bool there = (mask >> lane & 1) != 0;
    svg.box(x + 1, y, lane_width - 2, lane_height, there ? lane_class(static_cast<int>(lane), "lane") : "idle");
    svg.text(x + lane_width / 2, y + 12, std::to_string(lane), there ? "small number" : "small muted", "middle");
  }
}

/// from y to y + fan_height; x_of says where a lane's first byte is drawn.
template <class XOf>
void draw_fan(Svg& svg, double y, unsigned mask, XOf x_of) {
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    svg.curve(left + (lane + 0.5) * lane_width, y, x_of(lane), y + fan_height,
              lane_class(static_cast<int>(lane), "fan"));
  }
}

/// Neighbouring sectors touch each other; between others is a gap.
std::vector<double> sector_positions(const std::vector<Sector>& row) {
  std::vector<double> x;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool neighbour = i != 0 && row[i].offset == row[i - 1].offset + Sector::bytes;
    x.push_back(i == 0 ? 0 : x.back() + sector_width + (neighbour ? 0 : sector_gap));
  }
  const double width = x.back() + sector_width;
  for (double& position : x) position += left + (inner - width) / 2;
  return x;
}

/// Under the sectors: which bytes of the buffer they are.
void draw_sector_labels(Svg& svg, double y, const std::string& buffer, const std::vector<Sector>& row,
                        const std::vector<double>& x) {
  struct Run {
    double begin, end;
    std::int64_t first, last;
  };
  std::vector<Run> runs;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i == 0 || row[i].offset != row[i - 1].offset + Sector::bytes) runs.push_back({x[i], 0, row[i].offset, 0});
    runs.back().end = x[i] + sector_width;
    runs.back().last = row[i].offset + Sector::bytes - 1;
  }
  const auto text = [&](const Run& run) {
    return fmt::format("{}, bytes {} to {}", buffer, grouped(run.first), grouped(run.last));
  };
  if (runs.size() == 1) return svg.text((runs[0].begin + runs[0].end) / 2, y, text(runs[0]), "small muted", "middle");
  svg.text(runs.front().begin, y, text(runs.front()), "small muted");
  svg.text(runs.back().end, y, text(runs.back()), "small muted", "end");
  const std::int64_t step = runs[1].first - runs[0].first;
  for (std::size_t i = 2; i < runs.size(); ++i)
    if (runs[i].first - runs[i - 1].first != step) return;
  if (runs.size() > 2)
    svg.text(left + inner / 2, y, "each " + distance(step) + " from the next", "small muted", "middle");
}

double draw_global(Svg& svg, double y, const simt::TracedRequest& request) {
  const std::vector<Sector> row = sectors(request);
  const std::vector<double> x = sector_positions(row);
  const double byte_width = sector_width / Sector::bytes;
  draw_fan(svg, y, request.mask, [&](unsigned lane) {
    const auto offset = static_cast<std::int64_t>(request.address[lane] - request.base);
    std::size_t i = row.size() - 1;
    while (row[i].offset > offset) --i;
    return x[i] + (static_cast<double>(offset - row[i].offset) + request.lane_bytes / 2.0) * byte_width;
  });
  y += fan_height;
  for (std::size_t i = 0; i < row.size(); ++i) {
    svg.box(x[i], y, sector_width, memory_height, "fetched");
    for (int begin = 0, end; begin < Sector::bytes; begin = end) {
      const int lane = row[i].lane[static_cast<std::size_t>(begin)];
      for (end = begin + 1; end < Sector::bytes && row[i].lane[static_cast<std::size_t>(end)] == lane;) ++end;
      if (lane >= 0)
        svg.box(x[i] + begin * byte_width, y, (end - begin) * byte_width, memory_height, lane_class(lane, "lane"));
    }
    svg.box(x[i], y, sector_width, memory_height, "edge");
  }
  draw_sector_labels(svg, y + memory_height + 14, request.buffer, row, x);
  return fan_height + memory_height + 18;
}

std::size_t most_in_one_bank(const std::vector<Word>& row) {
  std::size_t in_bank[Word::banks] = {};
  for (const Word& word : row) ++in_bank[word.bank];
  return *std::max_element(std::begin(in_bank), std::end(in_bank));
}

/// A column for each bank, the words of a bank one below the other.
double draw_shared(Svg& svg, double y, const simt::TracedRequest& request) {
  const std::vector<Word> row = words(request);
  const double height = most_in_one_bank(row) <= 2 ? memory_height : 8;
  draw_fan(svg, y, request.mask, [&](unsigned lane) {
    const auto word = static_cast<std::int64_t>(request.address[lane] - request.base) / Word::bytes;
    return left + (static_cast<double>(word % Word::banks) + 0.5) * lane_width;
  });
  y += fan_height;
  for (int bank = 0; bank < Word::banks; ++bank) svg.box(left + bank * lane_width, y, lane_width, height, "fetched");
  int in_bank[Word::banks] = {};
  for (const Word& word : row) {
    const double top = y + in_bank[word.bank]++ * height;
    svg.box(left + word.bank * lane_width, top, lane_width, height, lane_class(word.lane, "lane"));
  }
  for (int bank = 0; bank < Word::banks; ++bank)
    svg.box(left + bank * lane_width, y, lane_width, height * std::max(1, in_bank[bank]), "edge");
  const double bottom = y + height * static_cast<double>(most_in_one_bank(row));
  svg.text(left, bottom + 14, "bank 0", "small muted");
  svg.text(left + inner, bottom + 14, "bank 31", "small muted", "end");
  svg.text(left + inner / 2, bottom + 14, fmt::format("{}, from byte {}", request.buffer, grouped(row.front().offset)),
           "small muted", "middle");
  return bottom + 18 - (y - fan_height);
}

/// What the request covers, for the right end of its heading.
std::string coverage(const simt::TracedRequest& request) {
  if (request.space == simt::Space::shared) {
    const std::size_t most = most_in_one_bank(words(request));
    return most == 1 ? "no two words in one bank" : fmt::format("up to {} words in one bank", most);
  }
  const std::vector<Sector> row = sectors(request);
  std::int64_t used = 0;
  for (const Sector& sector : row) used += Sector::bytes - std::count(sector.lane.begin(), sector.lane.end(), -1);
  return fmt::format("{} = {} bytes, {} of them used", plural(row.size(), "sector"), row.size() * Sector::bytes, used);
}

double draw_request(Svg& svg, double top, std::size_t number, const simt::TracedRequest& request, Sources& sources) {
  svg.begin_group("request");
  double y = top + 14;
  const char* kind = request.atomic ? "Atomic on" : request.store ? "Store to" : "Load of";
  const int count = std::popcount(request.mask);
  svg.text(left, y,
           fmt::format("{}. {} {}: {} × {} = {} bytes asked", number, kind, request.buffer,
                       plural(static_cast<std::uint64_t>(count), "lane"), plural(request.lane_bytes, "byte"),
                       count * static_cast<int>(request.lane_bytes)),
           "strong");
  svg.text(left + inner, y, coverage(request), "strong", "end");
  y += 18;
  const simt::Where where = simt::where_is(request.pc);
  const auto [place, line] = sources.at(where.file, where.line);
  svg.text(left, y, quoted(place, line), "small code muted");
  y += 9;
  draw_lanes(svg, y, request.mask);
  y += lane_height;
  y += request.space == simt::Space::shared ? draw_shared(svg, y, request) : draw_global(svg, y, request);
  svg.end_group();
  return y - top;
}

// ---- The timeline

struct Kind {
  const char* style;
  const char* name;
  std::uint64_t simt::WarpPhase::*count;
};
constexpr Kind kinds[] = {{"global", "requests to global memory", &simt::WarpPhase::global_requests},
                          {"shared", "requests to shared memory", &simt::WarpPhase::shared_requests},
                          {"shuffle", "shuffles and votes", &simt::WarpPhase::shuffles},
                          {"plain", "__syncwarp()", &simt::WarpPhase::warp_barriers}};
constexpr double row_height = 20, bar_height = 16, digit_width = 6.6, rows_left = left + 56;
constexpr std::size_t most_phases = 24;

/// One warp in one phase: a piece for each kind, at least as wide as its number.
void draw_bar(Svg& svg, double x, double y, double width, const simt::WarpPhase& phase) {
  double needed = 0;
  std::uint64_t total = 0;
  for (const Kind& kind : kinds) {
    if (phase.*kind.count == 0) continue;
    needed += digit_width * static_cast<double>(short_count(phase.*kind.count).size()) + 3;
    total += phase.*kind.count;
  }
  if (total == 0) return svg.box(x, y, width, bar_height, "idle");
  const bool labelled = needed <= width;
  double at = x;
  for (const Kind& kind : kinds) {
    const std::uint64_t count = phase.*kind.count;
    if (count == 0) continue;
    const std::string number = short_count(count);
    const double least = labelled ? digit_width * static_cast<double>(number.size()) + 3 : 0;
    const double spare = labelled ? width - needed : width;
    const double piece = least + spare * static_cast<double>(count) / static_cast<double>(total);
    svg.box(at, y, piece, bar_height, kind.style);
    if (labelled) svg.text(at + piece / 2, y + 12, number, "small", "middle");
    at += piece;
  }
  if (!labelled) svg.text(x + width / 2, y + 12, short_count(total), "small", "middle");
}

double draw_key(Svg& svg, double y, const simt::BlockTrace& trace) {
  double x = left;
  for (const Kind& kind : kinds) {
    const bool occurs = std::any_of(trace.phases.begin(), trace.phases.end(), [&](const auto& phase) {
      return std::any_of(phase.begin(), phase.end(),
                         [&](const simt::WarpPhase& warp) { return warp.*kind.count != 0; });
    });
    if (!occurs) continue;
    svg.box(x, y - 9, 10, 10, kind.style);
    svg.text(x + 15, y, kind.name, "small muted");
    x += 180;
  }
  svg.line(x + 5, y - 11, x + 5, y + 3, "barrier");
  svg.text(x + 15, y, "__syncthreads(), with its line", "small muted");
  return y + 14;
}

/// A block without barriers, in a sentence.
std::string without_barriers(const simt::BlockTrace& trace) {
  std::string text =
      fmt::format("No barrier: the {} of the block run on their own", plural(trace.phases.front().size(), "warp"));
  for (const Kind& kind : kinds) {
    const auto less = [&](const simt::WarpPhase& a, const simt::WarpPhase& b) { return a.*kind.count < b.*kind.count; };
    const auto grouped_count = [&](const simt::WarpPhase& warp) {
      return grouped(static_cast<std::int64_t>(warp.*kind.count));
    };
    const auto [least, most] = std::minmax_element(trace.phases.front().begin(), trace.phases.front().end(), less);
    if ((*most).*kind.count == 0) continue;
    text += (*least).*kind.count == (*most).*kind.count
                ? fmt::format(", {} {} each", grouped_count(*most), kind.name)
                : fmt::format(", {} to {} {}", grouped_count(*least), grouped_count(*most), kind.name);
  }
  return text + ".";
}

double draw_timeline(Svg& svg, double top, const simt::BlockTrace& trace, Sources& sources) {
  if (trace.barriers.empty()) {
    svg.text(left, top + 14, without_barriers(trace), "");
    return 22;
  }
  const auto is_idle = [](const simt::WarpPhase& warp) { return warp == simt::WarpPhase{}; };
  std::size_t phases = trace.phases.size();
  if (std::all_of(trace.phases.back().begin(), trace.phases.back().end(), is_idle)) --phases;
  const std::size_t drawn = std::min(phases, most_phases);
  const std::size_t warps = trace.phases.front().size();

  double y = top + 14;
  svg.text(left, y, "From barrier to barrier: what each warp of the block does", "strong");
  svg.text(
      left + inner, y,
      plural(trace.barriers.size(), "barrier") + (drawn < phases ? fmt::format(", drawn up to number {}", drawn) : ""),
      "muted", "end");
  y = draw_key(svg, y + 18, trace);
  svg.text(left, y + 2, "The pieces of a bar are sorted by kind, not by time, and the length is no time.",
           "small muted");
  y += 16;

  const double width = (left + inner - rows_left) / static_cast<double>(drawn);
  const double first_row = y + 16, last_row = first_row + row_height * static_cast<double>(warps);
  for (std::size_t warp = 0; warp < warps; ++warp) {
    const double row = first_row + row_height * static_cast<double>(warp);
    svg.text(left, row + 12, fmt::format("warp {}", warp), "small muted");
    for (std::size_t p = 0; p < drawn; ++p)
      draw_bar(svg, rows_left + width * static_cast<double>(p) + 2, row, width - 4, trace.phases[p][warp]);
  }
  std::vector<std::pair<std::string, int>> sites;  // in the order in which they are met
  for (std::size_t b = 0; b < std::min(trace.barriers.size(), drawn); ++b) {
    const double x = rows_left + width * static_cast<double>(b + 1);
    const std::pair site{simt::short_path(trace.barriers[b].file), trace.barriers[b].line};
    svg.line(x, first_row - 4, x, last_row, "barrier");
    svg.text(x, first_row - 7, std::to_string(site.second), "small code muted", "middle");
    if (std::find(sites.begin(), sites.end(), site) == sites.end()) sites.push_back(site);
  }
  y = last_row + 12;
  for (const auto& [file, number] : sites) {
    const auto [place, line] = sources.at(file, number);
    svg.text(left, y, quoted(place, line), "small code muted");
    y += 15;
  }
  return y - top;
}

// ---- A section for each launch

double draw_section(Svg& svg, double top, const simt::BlockTrace& trace, unsigned warp, Sources& sources) {
  const auto blocks = std::uint64_t{trace.grid.x} * trace.grid.y * trace.grid.z;
  const std::size_t warps = trace.phases.front().size();
  if (warp >= warps) {
    throw UsageError(fmt::format("There is no warp {} in a block of {}, which has {}: their numbers start at 0.", warp,
                                 trace.kernel, plural(warps, "warp")));
  }
  double y = top + 18;
  svg.text(left, y, trace.kernel, "title");
  svg.text(left + inner, y,
           fmt::format("block {} of {}, {} threads a block; warp {}", trace.number, blocks,
                       trace.block.x * trace.block.y * trace.block.z, warp),
           "muted", "end");
  y += 12;
  std::size_t number = 0;
  for (const simt::TracedRequest& request : trace.requests)
    if (request.warp == warp) y += draw_request(svg, y, ++number, request, sources) + 10;
  if (number == 0) {
    svg.text(left, y + 14, fmt::format("Warp {} asks memory for nothing.", warp), "");
    y += 26;
  }
  y += draw_timeline(svg, y, trace, sources);
  return y - top;
}

double draw_legend(Svg& svg, double y) {
  svg.box(left, y - 9, 10, 10, lane_class(0, "lane"));
  svg.box(left + 10, y - 9, 10, 10, lane_class(lanes - 1, "lane"));
  svg.text(left + 26, y, "a lane above, the bytes that it asks for below", "small muted");
  svg.box(left + 400, y - 9, 20, 10, "fetched");
  svg.text(left + 426, y, "bytes that come along, since a sector is 32 bytes", "small muted");
  return y + 14;
}

}  // namespace

std::vector<Sector> sectors(const simt::TracedRequest& request) {
  std::map<std::uintptr_t, Sector> by_address;
  for (unsigned rest = request.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    for (unsigned byte = 0; byte < request.lane_bytes; ++byte) {
      const std::uintptr_t address = request.address[static_cast<std::size_t>(lane)] + byte;
      const std::uintptr_t begin = address / Sector::bytes * Sector::bytes;
      const auto [entry, is_new] = by_address.try_emplace(begin);
      Sector& sector = entry->second;
      if (is_new) {
        sector.offset = static_cast<std::int64_t>(begin - request.base);
        sector.lane.fill(-1);
      }
      int& owner = sector.lane[address - begin];
      if (owner < 0) owner = lane;
    }
  }
  std::vector<Sector> row;
  for (const auto& [address, sector] : by_address) row.push_back(sector);
  return row;
}

std::vector<Word> words(const simt::TracedRequest& request) {
  std::map<std::int64_t, int> lane_of;  // by the word's number
  for (unsigned rest = request.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto begin = static_cast<std::int64_t>(request.address[static_cast<std::size_t>(lane)] - request.base);
    for (std::int64_t byte = begin; byte < begin + request.lane_bytes; ++byte)
      lane_of.try_emplace(byte / Word::bytes, lane);
  }
  std::vector<Word> row;
  for (const auto& [word, lane] : lane_of)
    row.push_back({word * Word::bytes, static_cast<int>(word % Word::banks), lane});
  return row;
}

std::string picture(const std::vector<simt::BlockTrace>& traces, unsigned warp, const std::filesystem::path& root) {
  Svg svg;
  Sources sources(root);
  double y = draw_legend(svg, 26);
  std::string title = "What a warp asks of memory:";
  for (const simt::BlockTrace& trace : traces) {
    if (&trace != traces.data()) {
      svg.line(left, y + 6, left + inner, y + 6, "line");
      title += ",";
      y += 10;
    }
    title += " " + trace.kernel;
    y += draw_section(svg, y, trace, warp, sources);
  }
  return svg.finish(page_width, std::ceil(y + 14), title,
                    fmt::format("{}\n{}", style, lane_colours({9, 105, 218}, {130, 80, 223}, {191, 57, 137})),
                    fmt::format("{}\n{}", dark_style, lane_colours({88, 166, 255}, {188, 140, 255}, {247, 120, 186})));
}

}  // namespace learn
