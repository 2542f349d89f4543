/// A block while it runs: its threads as fibers, its barriers and collectives, and the log of what its warps access.
#pragma once

#include <simt/dim3.h>
#include <simt/observer.h>
#include <simt/operations.h>
#include <simt/symbols.h>

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace simt {

class Launch;

/// A thread of the block: a fiber of its own that runs until it must wait.
struct Lane {
  boost::context::detail::fcontext_t context;  // where it goes on
  uint3 index;                                 // threadIdx
  unsigned id;                                 // its number in the block
  // What it gives to the collective that it waits at.
  int argument, width;
  std::uint64_t value;
  // The calls that it is in, as a hash: the same instruction reached through two calls is two requests.
  std::uint16_t path;
  std::uint16_t depth;
};

/// The accesses of a warp since it last synchronised: row n holds the n-th access of each lane, side by side, so that
/// lanes that ran the same instructions fill whole rows.
struct AccessLog {
  static constexpr unsigned capacity = 256;
  // The key of an access is everything that makes it part of the same request as another lane's:
  //   bits 0–31 instruction, as an offset in the program; 32–47 path; 48–55 bytes; then
  static constexpr std::uint64_t write_bit = std::uint64_t{1} << 56;
  static constexpr std::uint64_t atomic_bit = std::uint64_t{1} << 57;
  static constexpr std::uint64_t shared_bit = std::uint64_t{1} << 58;

  std::uint16_t size[lanes_per_warp] = {};
  std::uint64_t key[capacity][lanes_per_warp];
  std::uintptr_t address[capacity][lanes_per_warp];
};

struct Warp {
  unsigned live = 0;     // lanes that have not exited
  unsigned ready = 0;    // lanes that can run
  unsigned waiting = 0;  // lanes at a collective
  unsigned paused = 0;   // lanes whose log is full
  AccessLog log;
};

/// One block at a time. A worker thread owns one Block and reuses it: its stacks and logs stay.
class Block {
public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// The next blocks belong to this launch.
  void begin(Launch& launch);
  /// Runs a block to its end, or to where it had to be given up.
  void run(std::uint64_t number);
  /// No more blocks of this launch.
  void end();

  /// The block that this thread is running; null in host code and between two blocks. May be asked in a signal handler.
  static const Block* of_worker();
  /// Whether an access at this address runs over the end of a thread's stack.
  bool beyond_stack(std::uintptr_t address) const;

  // What the running thread calls.
  void access(std::uintptr_t address, unsigned bytes, bool write, bool atomic, std::uintptr_t pc);
  void enter_function(std::uintptr_t caller);
  void leave_function();
  void barrier(Site site);
  std::uint64_t collective(Collective operation, unsigned mask, std::uint64_t value, int argument, int width,
                           Site site);
  unsigned active_mask() const;
  [[noreturn]] void fail_assertion(const char* expression, Site site);
  const Lane& lane() const { return *current_; }
  const BlockInfo& info() const { return info_; }
  Launch& launch() const { return *launch_; }
  void* dynamic_shared() const { return reinterpret_cast<void*>(dynamic_.begin); }

private:
  static constexpr unsigned max_call_depth = 64;  // calls deeper than this are not told apart

  static void lane_main(boost::context::detail::transfer_t from);
  [[noreturn]] void exit_lane();
  Lane* next_lane();
  void make_current(Lane& lane);
  void switch_to_next();
  [[noreturn]] void give_up();
  [[noreturn]] void leave();

  void release_barrier();
  bool complete_collective(unsigned warp, unsigned mask);
  void complete_collectives_of(unsigned warp);
  void pause();

  void flush(unsigned warp, unsigned lanes);
  void announce_diverged(unsigned warp, unsigned mask);
  void announce(unsigned warp, unsigned mask, std::uint64_t key, const std::uintptr_t* address);
  void unusual_access(std::uintptr_t address, unsigned bytes, bool write, std::uintptr_t pc);

  Launch* launch_ = nullptr;
  BlockInfo info_;
  std::vector<std::unique_ptr<Observer>> observers_;

  std::vector<Lane> lanes_;
  std::vector<Standing> standing_;  // of each lane
  std::vector<std::unique_ptr<Warp>> warps_;
  unsigned warp_count_ = 0;
  unsigned live_ = 0;        // threads that have not exited
  unsigned at_barrier_ = 0;  // threads that wait at a barrier
  bool shuffled_ = false;    // lanes and warps run in an order that random_ draws
  std::mt19937_64 random_;
  Lane* current_ = nullptr;
  Warp* current_warp_ = nullptr;
  boost::context::detail::fcontext_t worker_context_ = nullptr;

  std::vector<std::array<std::uint16_t, max_call_depth>> callers_;  // of each lane: the paths to go back to

  Range device_;
  Range stacks_;
  Range shared_;   // this worker's copy of the program's __shared__ variables
  Range dynamic_;  // the most dynamic shared memory that a block can have
  std::uintptr_t image_begin_ = 0;
};

/// What a thread of a kernel may fill with local variables and calls.
inline constexpr std::size_t stack_bytes = 256 << 10;  // reserved; a page costs memory only once it is used

/// The block whose thread is running on this worker; null in host code, and null in the executor's own code while a
/// thread waits in it. (The linker may give the executor the hooked copy of an inline function of the standard library:
/// what the executor does with it is no access of the kernel.)
extern thread_local Block* running_block;

// The path of almost every access: nothing of the standard library in it, since that might be hooked itself.
inline __attribute__((always_inline)) void Block::access(std::uintptr_t address, unsigned bytes, bool write,
                                                         bool atomic, std::uintptr_t pc) {
  std::uint64_t space = 0;
  if (!device_.contains(address)) {
    if (stacks_.contains(address)) return;  // the thread's own variables
    if (!shared_.contains(address) && !dynamic_.contains(address)) return unusual_access(address, bytes, write, pc);
    space = AccessLog::shared_bit;
  }
  if ((address & (bytes - 1)) != 0) return unusual_access(address, bytes, write, pc);

  AccessLog& log = current_warp_->log;
  const unsigned lane = current_->id % lanes_per_warp;
  const unsigned n = log.size[lane]++;
  log.key[n][lane] = static_cast<std::uint32_t>(pc - image_begin_) | std::uint64_t{current_->path} << 32 |
                     std::uint64_t{bytes} << 48 | (write ? AccessLog::write_bit : 0) |
                     (atomic ? AccessLog::atomic_bit : 0) | space;
  log.address[n][lane] = address;
  if (n + 1 == AccessLog::capacity) pause();
}

}  // namespace simt
