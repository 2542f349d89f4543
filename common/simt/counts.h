/// What a launch asked of memory, counted by the executor. A model of the requests that a GPU would make, not a
/// measurement of time.
///
///   CountScope counts;
///   three_pass::layer_norm(args, nullptr);
///   counts.total().buffer("x").loads.requests
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simt {

/// Accesses of one kind. A request is one instruction of one warp, whatever number of its lanes take part.
struct AccessCounts {
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;  // sum over requests of the lanes that took part
  std::uint64_t bytes = 0;  // requested: lanes · bytes a lane
  // Global memory: 32-byte sectors, distinct within each request.
  std::uint64_t sectors = 0;
  std::uint64_t ideal_sectors = 0;  // ⌈bytes/32⌉ of each request: what it would need if its lanes stood side by side
  std::uint64_t sectors_again = 0;  // of loads: those that the same block had loaded before in this launch
  // Shared memory: rounds that the 32 banks of 4 bytes need, and what they would need without conflicts.
  std::uint64_t wavefronts = 0;
  std::uint64_t ideal_wavefronts = 0;

  AccessCounts& operator+=(const AccessCounts& other);
};

/// The accesses of one buffer. Touched: distinct 32-byte sectors of the launch, in bytes: the least that any cache must
/// fetch or write back.
struct BufferCounts {
  std::string name;
  AccessCounts loads, stores;
  std::uint64_t bytes_touched_by_loads = 0;
  std::uint64_t bytes_touched_by_stores = 0;
};

/// How far apart the neighbouring lanes of requests are in memory.
struct LaneDistance {
  enum Kind : std::uint8_t { none, one, several } kind = none;
  std::int64_t bytes = 0;  // a lane's address minus that of the lane before it, where kind is one

  LaneDistance& operator+=(const LaneDistance& other);
};

/// The accesses of one instruction to one buffer.
struct SiteCounts {
  std::uintptr_t pc = 0;  // where_is(pc) in symbols.h gives file and line
  std::string buffer;     // "shared" for shared memory
  bool shared = false;
  bool store = false;
  unsigned lane_bytes = 0;  // bytes a lane
  AccessCounts counts;
  LaneDistance distance;  // of those requests that take more sectors or wavefronts than their ideal
};

struct LaunchCounts {
  std::string kernel;  // of the first launch, where several are added up
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;
  std::uint64_t barriers = 0;       // __syncthreads, once a block
  std::uint64_t warp_barriers = 0;  // __syncwarp, once a warp
  std::uint64_t shuffles = 0;       // shuffles and votes, once a warp
  AccessCounts shared_loads, shared_stores;
  std::vector<BufferCounts> buffers;  // by name
  std::vector<SiteCounts> sites;      // by pc

  /// The buffer of this name; all zero if the launch did not touch it.
  BufferCounts buffer(const std::string& name) const;
  AccessCounts global_loads() const;
  AccessCounts global_stores() const;
  std::uint64_t bytes_requested() const;  // global loads and stores
  std::uint64_t bytes_touched() const;    // global loads and stores, each counted apart

  LaunchCounts& operator+=(const LaunchCounts& other);
};

/// While it lives, every launch from this thread adds its counts. Without one nothing is counted.
class CountScope {
public:
  CountScope();
  ~CountScope();
  CountScope(const CountScope&) = delete;
  CountScope& operator=(const CountScope&) = delete;

  /// All launches so far, added up; bytes touched are summed over launches.
  const LaunchCounts& total() const { return total_; }
  /// Each of them, in their order.
  const std::vector<LaunchCounts>& launches() const { return launches_; }

private:
  friend void deliver(const LaunchCounts& counts);
  LaunchCounts total_;
  std::vector<LaunchCounts> launches_;
  CountScope* outer_;
};

/// Whether a CountScope of this thread is open.
bool counting();
/// Adds the counts of a launch to every open CountScope of this thread.
void deliver(const LaunchCounts& counts);

}  // namespace simt
