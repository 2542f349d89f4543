/// The event stream of a launch. Every check and every counter is an observer of it; kernels know nothing of them.
///
/// Each worker thread has observers of its own for each launch, so they need no locks; end() is where they hand over
/// what they have. Order of events: a warp's accesses arrive when its lanes synchronise or end, in the order of each
/// lane's program; before a barrier is announced, everything that came before it has been announced.
#pragma once

#include <simt/dim3.h>
#include <simt/finding.h>
#include <simt/operations.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace simt {

class Launch;

inline constexpr unsigned lanes_per_warp = 32;

struct BlockInfo {
  std::uint64_t number = 0;  // x fastest, then y, then z
  Index index;               // blockIdx
  dim3 dimension;            // blockDim
  unsigned threads = 0;
  std::uintptr_t shared_segment = 0;  // what SharedVariable::offset counts from
  std::uintptr_t dynamic_shared = 0;  // dynamic shared memory: its begin and its size
  std::size_t dynamic_bytes = 0;

  Index thread(unsigned id) const {
    return {id % dimension.x, id / dimension.x % dimension.y, id / (dimension.x * dimension.y)};
  }
};

enum class Space : std::uint8_t { global, shared };

/// One memory request: the lanes of a warp that executed the same instruction together.
struct WarpAccess {
  std::uintptr_t pc;  // return address of the hook
  unsigned warp;
  unsigned mask;  // the lanes that take part
  Space space;
  bool write;
  bool atomic;
  unsigned bytes;                 // of each lane
  const std::uintptr_t* address;  // [32], by lane
};

/// An access that no memory system would serve.
struct LaneFault {
  enum Kind { host_memory, unmapped, misaligned, beside_shared_memory } kind;
  std::uintptr_t pc;
  unsigned thread;
  std::uintptr_t address;
  unsigned bytes;
  bool write;

  /// Reading the host's memory does no harm; everything else does, or cannot be done.
  bool ends_launch() const { return write || kind != host_memory; }
};

/// All threads of the block that have not exited stand at a __syncthreads().
struct BarrierEvent {
  Site site;        // of the first to arrive
  unsigned exited;  // threads that will never arrive
  bool uniform;     // all at the same place in the source
};

/// Lanes of a warp finished a shuffle, a vote or a __syncwarp together.
struct CollectiveEvent {
  unsigned warp;
  Collective operation;
  Site site;
  unsigned mask;          // as the lanes named it
  unsigned participants;  // the lanes that were there
  unsigned exited;        // named in the mask, but exited or beyond the block
  unsigned unread;        // participants whose source lane was not there
  int width;
  bool uniform;  // all called the same operation
};

/// Where one thread stands.
enum class LaneState : std::uint8_t { ready, at_barrier, at_collective, paused, exited };
struct Standing {
  LaneState state;
  Site site;  // at_barrier, at_collective
  Collective operation;
  unsigned mask;
};

class Observer {
public:
  virtual ~Observer() = default;
  virtual void begin_block(const BlockInfo&) {}
  virtual void access(const WarpAccess&) {}
  virtual void fault(const LaneFault&) {}
  virtual void barrier(const BarrierEvent&, std::span<const Standing>) {}
  virtual void collective(const CollectiveEvent&) {}
  /// No thread can go on: the block is given up after this.
  virtual void stuck(std::span<const Standing>) {}
  /// The worker has run its last block of this launch.
  virtual void end() {}
};

std::unique_ptr<Observer> make_sync_check(Launch& launch);
std::unique_ptr<Observer> make_memory_check(Launch& launch);
std::unique_ptr<Observer> make_init_check(Launch& launch);
std::unique_ptr<Observer> make_race_check(Launch& launch);
std::unique_ptr<Observer> make_counter(Launch& launch);
std::unique_ptr<Observer> make_tracer(Launch& launch);

}  // namespace simt
