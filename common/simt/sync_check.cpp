// The sync check: barriers that not all threads reach, collectives that name lanes which are not there, deadlock.
#include <simt/launch_state.h>
#include <simt/observer.h>
#include <simt/symbols.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace simt {

namespace {

const char* name(Collective operation) {
  switch (operation) {
    case Collective::shuffle_xor: return "__shfl_xor_sync";
    case Collective::shuffle_down: return "__shfl_down_sync";
    case Collective::shuffle_up: return "__shfl_up_sync";
    case Collective::shuffle_index: return "__shfl_sync";
    case Collective::ballot: return "__ballot_sync";
    case Collective::any: return "__any_sync";
    case Collective::all: return "__all_sync";
    case Collective::warp_barrier: return "__syncwarp";
  }
  return "?";
}

std::string hex(unsigned mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

// "threads 0–15, 32", at most eight runs of consecutive numbers.
std::string ranges(const std::vector<unsigned>& numbers) {
  std::string text = numbers.size() == 1 ? "thread " : "threads ";
  std::size_t runs = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    if (++runs > 8) return text + " … (" + std::to_string(numbers.size()) + " in all)";
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (i != 0) text += ", ";
    text += std::to_string(numbers[i]);
    if (end != i) text += (end == i + 1 ? ", " : "–") + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text;
}

std::vector<unsigned> lanes_of(unsigned mask) {
  std::vector<unsigned> lanes;
  for (; mask != 0; mask &= mask - 1) lanes.push_back(std::countr_zero(mask));
  return lanes;
}

std::string lane_ranges(unsigned mask) {
  const std::string text = ranges(lanes_of(mask));
  return (std::has_single_bit(mask) ? "lane " : "lanes ") + text.substr(text.find(' ') + 1);
}

// Where each group of threads stands, a line for each place.
std::string table(std::span<const Standing> standing) {
  std::map<std::string, std::vector<unsigned>> groups;
  for (unsigned id = 0; id < standing.size(); ++id) {
    const Standing& s = standing[id];
    std::string where;
    switch (s.state) {
      case LaneState::exited: where = "have exited"; break;
      case LaneState::at_barrier: where = "wait at __syncthreads()"; break;
      case LaneState::at_collective:
        where = std::string("wait at ") + name(s.operation) + " with mask " + hex(s.mask);
        break;
      case LaneState::ready:
      case LaneState::paused: where = "have not arrived"; break;
    }
    if (s.state == LaneState::at_barrier || s.state == LaneState::at_collective)
      where += ", " + short_path(s.site.file) + ":" + std::to_string(s.site.line);
    groups[where].push_back(id);
  }
  std::map<unsigned, std::string> lines;  // in the order of their first threads
  for (const auto& [where, threads] : groups) lines[threads.front()] = ranges(threads) + " " + where;
  std::string text =
      "of the " + std::to_string(standing.size()) + (standing.size() == 1 ? " thread" : " threads") + " of this block";
  for (const auto& [first, line] : lines) text += "\n  " + line;
  return text;
}

class SyncCheck : public Observer {
public:
  explicit SyncCheck(Launch& launch) : launch_(launch) {}

  void begin_block(const BlockInfo& block) override { block_ = &block; }

  void barrier(const BarrierEvent& event, std::span<const Standing> standing) override {
    if (event.uniform && event.exited == 0) return;
    unsigned first = 0;
    while (standing[first].state != LaneState::at_barrier) ++first;
    launch_.report("sync",
                   event.uniform ? "barrier in divergent code: not all threads of the block reach this __syncthreads()"
                                 : "barrier in divergent code: threads of the block wait at different __syncthreads()",
                   {event.site, 0}, *block_, first, table(standing));
  }

  void collective(const CollectiveEvent& event) override {
    if (event.width < 1 || event.width > 32 || !std::has_single_bit(static_cast<unsigned>(event.width)))
      report(event, event.participants, "the width of a shuffle must be 1, 2, 4, 8, 16 or 32",
             "it is " + std::to_string(event.width));
    if ((event.mask & event.participants) == 0)
      return report(event, event.participants, "the calling lane is not in its own mask",
                    lane_ranges(event.participants) + " called with mask " + hex(event.mask));
    if (event.exited != 0)
      report(event, event.participants, "the mask names lanes that have exited",
             "mask " + hex(event.mask) + " of warp " + std::to_string(event.warp) + " names " +
                 lane_ranges(event.exited) + ", which are gone or never were; only " + lane_ranges(event.participants) +
                 " can take part");
    if (!event.uniform)
      report(event, event.participants, "lanes of one mask meet in different operations",
             "mask " + hex(event.mask) + " is shared by " + lane_ranges(event.participants) +
                 "; all of them must call the same operation");
    if (event.unread != 0 && event.exited == 0)
      report(event, event.unread, "the shuffle reads from a lane that does not take part",
             lane_ranges(event.unread) + " would get the value of a lane outside of mask " + hex(event.mask) +
                 ", which is undefined");
  }

  void stuck(std::span<const Standing> standing) override {
    unsigned first = 0;
    while (standing[first].state != LaneState::at_barrier && standing[first].state != LaneState::at_collective) ++first;
    launch_.report("sync", "deadlock: no thread of the block can go on", {standing[first].site, 0}, *block_, first,
                   table(standing), Launch::Then::ends);
  }

private:
  void report(const CollectiveEvent& event, unsigned lanes, const std::string& what, const std::string& detail) {
    launch_.report("sync", std::string(name(event.operation)) + ": " + what, {event.site, 0}, *block_,
                   event.warp * lanes_per_warp + std::countr_zero(lanes), detail);
  }

  Launch& launch_;
  const BlockInfo* block_ = nullptr;
};

}  // namespace

std::unique_ptr<Observer> make_sync_check(Launch& launch) { return std::make_unique<SyncCheck>(launch); }

}  // namespace simt
