/// What all workers of one launch share.
#pragma once

#include <simt/counts.h>
#include <simt/executor.h>
#include <simt/finding.h>
#include <simt/observer.h>
#include <simt/trace.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace simt {

/// Where a fault lies: a place in the source (barriers, collectives) or the address of an instruction (accesses).
struct Place {
  Site site;
  std::uintptr_t pc = 0;
};

class Launch {
public:
  Launch(const KernelCall& call, dim3 grid, dim3 block, std::size_t shared_bytes, std::uint64_t first_block,
         std::uint64_t end_block, bool counting);

  const KernelCall call;
  const dim3 grid, block;
  const std::size_t shared_bytes;
  const bool counting;
  TraceScope* const tracing = open_trace();  // of the thread that launches
  const Checks checks;
  const std::uint64_t seed;
  const std::uint32_t number;  // of this launch in the program, from 1

  BlockInfo block_info(std::uint64_t number) const;

  /// The next block that nobody has taken; false when there is none or the launch was stopped.
  bool next_block(std::uint64_t& number);
  void stop() { stopped_ = true; }

  /// Notes a fault of one kind at one place. Of many, the one of the first block and thread is kept, whatever order
  /// they ran in. A fault that ends the launch is not counted: how many blocks meet it before they stop depends on the
  /// machine.
  enum class Then { goes_on, ends };
  void report(const char* check, const std::string& title, const Place& place, const BlockInfo& block, unsigned thread,
              const std::string& detail, Then then = Then::goes_on);
  /// All findings, with kernel, file and line filled in.
  std::vector<Finding> findings();

  const std::string& kernel() const { return counts_.kernel; }

  void add(const LaunchCounts& counts);
  LaunchCounts& counts() { return counts_; }

private:
  struct Reported {
    std::pair<std::uint64_t, unsigned> first;  // block number, thread
    Finding finding;
    Place place;
  };

  std::atomic<std::uint64_t> next_;
  const std::uint64_t end_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int, std::uintptr_t, std::string>, Reported> reported_;
  LaunchCounts counts_;
};

/// The launches that this program has started, and whether the last of them still runs.
struct LaunchesSoFar {
  std::uint32_t started;
  bool running;
};
LaunchesSoFar launches_so_far();

}  // namespace simt
