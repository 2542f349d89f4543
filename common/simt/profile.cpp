#include <simt/profile.h>

#include <simt/symbols.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace simt {
namespace {

thread_local ProfileScope* innermost = nullptr;

// The file of SIMT_PROFILE; null without one.
const char* profile_file() {
  static const char* const file = std::getenv("SIMT_PROFILE");
  return file;
}

// Keeps the larger launch of each kernel; tells whether it took this one.
bool keep_larger(std::vector<KernelProfile>& kernels, const KernelProfile& profile) {
  const auto same = [&](const KernelProfile& kept) { return kept.kernel == profile.kernel; };
  const auto kept = std::find_if(kernels.begin(), kernels.end(), same);
  if (kept == kernels.end()) {
    kernels.push_back(profile);
  } else {
    if (profile.bytes_requested() <= kept->bytes_requested()) return false;
    *kept = profile;
  }
  return true;
}

// Under another name first, so that a program that is killed meanwhile leaves the file as it was.
void write_profile(const std::string& file, const std::vector<KernelProfile>& kernels) {
  const std::string text = profile_text(kernels), fresh = file + ".new";
  std::FILE* out = std::fopen(fresh.c_str(), "w");
  bool written = out != nullptr;
  if (out != nullptr) {
    written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
    written = std::fclose(out) == 0 && written;
  }
  if (!written || std::rename(fresh.c_str(), file.c_str()) != 0)
    throw std::runtime_error("SIMT_PROFILE names the file " + file +
                             ", which cannot be written: " + std::strerror(errno) + ".");
}

using Field = std::uint64_t AccessCounts::*;
constexpr std::array<Field, 8> count_fields = {&AccessCounts::requests,      &AccessCounts::lanes,
                                               &AccessCounts::bytes,         &AccessCounts::sectors,
                                               &AccessCounts::ideal_sectors, &AccessCounts::sectors_again,
                                               &AccessCounts::wavefronts,    &AccessCounts::ideal_wavefronts};

std::string text_of(const AccessCounts& counts) {
  std::string text;
  for (const Field field : count_fields) text += "\t" + std::to_string(counts.*field);
  return text;
}

std::string text_of(const LaneDistance& distance) {
  if (distance.kind == LaneDistance::none) return "none";
  if (distance.kind == LaneDistance::several) return "several";
  return std::to_string(distance.bytes);
}

// The fields of one record, read one after the other.
class Record {
public:
  Record(std::string line, int number) : line_(std::move(line)), number_(number) {}

  std::string word() {
    if (at_ > line_.size()) fail();
    const std::size_t end = std::min(line_.find('\t', at_), line_.size());
    std::string word = line_.substr(at_, end - at_);
    at_ = end + 1;
    return word;
  }
  std::int64_t number() { return number_of(word()); }
  bool either(const char* no, const char* yes) {
    const std::string choice = word();
    if (choice != no && choice != yes) fail();
    return choice == yes;
  }
  LaneDistance distance() {
    const std::string text = word();
    if (text == "none") return {};
    if (text == "several") return {LaneDistance::several, 0};
    return {LaneDistance::one, number_of(text)};
  }
  AccessCounts counts() {
    AccessCounts counts;
    for (const Field field : count_fields) counts.*field = static_cast<std::uint64_t>(number());
    return counts;
  }
  void end() const {
    if (at_ <= line_.size()) fail();
  }
  [[noreturn]] void fail() const {
    throw std::runtime_error("Line " + std::to_string(number_) + " of the profile is no record of a profile: " + line_);
  }

private:
  std::int64_t number_of(const std::string& text) const {
    char* end = nullptr;
    const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0') fail();
    return number;
  }

  std::string line_;
  int number_;
  std::size_t at_ = 0;
};

}  // namespace

std::uint64_t KernelProfile::bytes_requested() const {
  std::uint64_t bytes = 0;
  for (const LineCounts& line : lines) bytes += line.counts.bytes;
  return bytes;
}

KernelProfile profile_of(const LaunchCounts& launch) {
  KernelProfile profile{
      launch.kernel, launch.blocks, launch.barriers, launch.warp_barriers, launch.shuffles, launch.buffers, {}};
  const auto key = [](const LineCounts& l) { return std::tie(l.file, l.line, l.store, l.buffer, l.lane_bytes); };
  for (const SiteCounts& site : launch.sites) {
    const Where where = where_is(site.pc);
    const LineCounts line{where.file, where.line,      site.buffer,   site.shared,
                          site.store, site.lane_bytes, site.distance, site.counts};
    const auto place = std::lower_bound(profile.lines.begin(), profile.lines.end(), line,
                                        [&](const auto& a, const auto& b) { return key(a) < key(b); });
    if (place == profile.lines.end() || key(*place) != key(line)) {
      profile.lines.insert(place, line);
    } else {
      place->counts += line.counts;
      place->distance += line.distance;
    }
  }
  return profile;
}

ProfileScope::ProfileScope() : outer_(std::exchange(innermost, this)) {}
ProfileScope::~ProfileScope() { innermost = outer_; }

bool profiling() { return innermost != nullptr || profile_file() != nullptr; }

void profile(const LaunchCounts& launch) {
  const KernelProfile profile = profile_of(launch);
  for (ProfileScope* scope = innermost; scope != nullptr; scope = scope->outer_) keep_larger(scope->kernels_, profile);
  if (profile_file() == nullptr) return;
  static std::vector<KernelProfile>& kernels =
      *new std::vector<KernelProfile>;  // never destroyed: launches may be late
  if (keep_larger(kernels, profile)) write_profile(profile_file(), kernels);
}

std::string profile_text(const std::vector<KernelProfile>& kernels) {
  std::ostringstream text;
  for (const KernelProfile& k : kernels) {
    text << "kernel\t" << k.kernel << '\t' << k.blocks << '\t' << k.barriers << '\t' << k.warp_barriers << '\t'
         << k.shuffles << '\n';
    for (const BufferCounts& b : k.buffers)
      text << "buffer\t" << b.name << '\t' << b.bytes_touched_by_loads << '\t' << b.bytes_touched_by_stores
           << text_of(b.loads) << text_of(b.stores) << '\n';
    for (const LineCounts& l : k.lines)
      text << "line\t" << l.file << '\t' << l.line << '\t' << l.buffer << '\t' << (l.shared ? "shared" : "global")
           << '\t' << (l.store ? "store" : "load") << '\t' << l.lane_bytes << '\t' << text_of(l.distance)
           << text_of(l.counts) << '\n';
  }
  return text.str();
}

std::vector<KernelProfile> read_profile(const std::string& text) {
  std::vector<KernelProfile> kernels;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    Record record(line, number);
    const std::string kind = record.word();
    const auto count = [&] { return static_cast<std::uint64_t>(record.number()); };
    // Braces evaluate in order, so the fields are read as they stand.
    if (kind == "kernel") {
      kernels.push_back({record.word(), count(), count(), count(), count(), {}, {}});
    } else if (kind == "buffer" && !kernels.empty()) {
      BufferCounts buffer;
      buffer.name = record.word();
      buffer.bytes_touched_by_loads = count();
      buffer.bytes_touched_by_stores = count();
      buffer.loads = record.counts();
      buffer.stores = record.counts();
      kernels.back().buffers.push_back(buffer);
    } else if (kind == "line" && !kernels.empty()) {
      LineCounts counts;
      counts.file = record.word();
      counts.line = static_cast<int>(record.number());
      counts.buffer = record.word();
      counts.shared = record.either("global", "shared");
      counts.store = record.either("load", "store");
      counts.lane_bytes = static_cast<unsigned>(record.number());
      counts.distance = record.distance();
      counts.counts = record.counts();
      kernels.back().lines.push_back(counts);
    } else {
      record.fail();
    }
    record.end();
  }
  return kernels;
}

}  // namespace simt
