// The race check: two threads at the same byte, at least one of them writing, and nothing that orders them.
//
//   shared memory    threads of a block are ordered by __syncthreads(), lanes of a warp also by __syncwarp(). A shuffle
//                    orders nothing.
//   device memory    blocks of one launch are not ordered at all.
//   atomics          are ordered with atomics, and with nothing else.
#include <simt/launch_state.h>
#include <simt/memory.h>
#include <simt/observer.h>
#include <simt/symbols.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace simt {

namespace {

std::string at(std::uintptr_t pc) {
  const Where where = where_is(pc);
  return where.file + ":" + std::to_string(where.line);
}

const char* verb(bool write, bool atomic) {
  return atomic ? "updates it atomically" : write ? "writes it" : "reads it";
}

// ---- Shared memory

// Who touched a byte last, since the last __syncthreads().
struct SharedByte {
  // The last write. Epochs count the __syncthreads() of the worker's blocks; times count the __syncwarp() of a warp.
  std::uint32_t write_epoch = 0, write_time = 0;
  std::uint16_t writer = 0;
  bool atomic = false;
  // The reads since: which warps, and of the warp that read last, which lanes since its last __syncwarp().
  std::uint32_t read_epoch = 0, read_time = 0, reader_warps = 0, reader_lanes = 0;
  std::uint16_t reader_warp = 0;
  std::uintptr_t write_pc = 0, read_pc = 0;
};

class SharedRaces {
public:
  void begin_block(unsigned threads, std::size_t bytes) {
    ++epoch_;
    if (bytes_.size() < bytes) bytes_.resize(bytes);
    heard_.resize(threads);
    for (auto& heard : heard_) heard.fill(0);
    time_.assign((threads + lanes_per_warp - 1) / lanes_per_warp, 1);
  }

  void block_barrier() { ++epoch_; }

  // Each participant hears of all that the others did and had heard of.
  void warp_barrier(unsigned warp, unsigned participants) {
    const std::uint32_t now = ++time_[warp];
    std::array<std::uint32_t, lanes_per_warp> together{};
    for (unsigned rest = participants; rest != 0; rest &= rest - 1) {
      const auto& heard = heard_[warp * lanes_per_warp + std::countr_zero(rest)];
      for (unsigned l = 0; l < lanes_per_warp; ++l) together[l] = std::max(together[l], heard[l]);
    }
    for (unsigned rest = participants; rest != 0; rest &= rest - 1) together[std::countr_zero(rest)] = now;
    for (unsigned rest = participants; rest != 0; rest &= rest - 1)
      heard_[warp * lanes_per_warp + std::countr_zero(rest)] = together;
  }

  struct Race {
    unsigned other;  // thread
    std::uintptr_t pc;
    bool other_wrote, other_atomic;
  };

  // The access of one thread to one byte. Returns true, and whom it races with, if nothing orders them.
  bool access(std::size_t index, unsigned thread, bool write, bool atomic, std::uintptr_t pc, Race& race) {
    SharedByte& byte = bytes_[index];
    const unsigned warp = thread / lanes_per_warp, lane = thread % lanes_per_warp;
    bool found = false;
    if (byte.write_epoch == epoch_ && byte.writer != thread && !(atomic && byte.atomic) &&
        !ordered(byte.writer, byte.write_time, thread)) {
      race = {byte.writer, byte.write_pc, true, byte.atomic};
      found = true;
    }
    if (write && !found && byte.read_epoch == epoch_) {
      const std::uint32_t other_warps = byte.reader_warps & ~(1u << warp);
      if (other_warps != 0) {
        const unsigned reader = byte.reader_warp != warp
                                    ? byte.reader_warp * lanes_per_warp + std::countr_zero(byte.reader_lanes)
                                    : std::countr_zero(other_warps) * lanes_per_warp;
        race = {reader, byte.read_pc, false, false};
        found = true;
      } else if (byte.reader_warp == warp) {
        for (unsigned rest = byte.reader_lanes & ~(1u << lane); rest != 0 && !found; rest &= rest - 1) {
          const unsigned reader = warp * lanes_per_warp + std::countr_zero(rest);
          if (ordered(reader, byte.read_time, thread)) continue;
          race = {reader, byte.read_pc, false, false};
          found = true;
        }
      }
    }
    if (write) {
      byte.write_epoch = epoch_;
      byte.write_time = time_[warp];
      byte.writer = static_cast<std::uint16_t>(thread);
      byte.atomic = atomic;
      byte.write_pc = pc;
    } else {
      if (byte.read_epoch != epoch_) byte.reader_warps = 0;
      if (byte.read_epoch != epoch_ || byte.reader_warp != warp || byte.read_time != time_[warp]) byte.reader_lanes = 0;
      byte.read_epoch = epoch_;
      byte.read_time = time_[warp];
      byte.reader_warp = static_cast<std::uint16_t>(warp);
      byte.reader_warps |= 1u << warp;
      byte.reader_lanes |= 1u << lane;
      byte.read_pc = pc;
    }
    return found;
  }

private:
  // Whether what `before` did at that time of its warp is ordered ahead of what `now` does now.
  bool ordered(unsigned before, std::uint32_t time, unsigned now) const {
    if (before == now) return true;
    return before / lanes_per_warp == now / lanes_per_warp && heard_[now][before % lanes_per_warp] > time;
  }

  std::uint32_t epoch_ = 0;
  std::vector<std::uint32_t> time_;                               // of each warp
  std::vector<std::array<std::uint32_t, lanes_per_warp>> heard_;  // of each thread: of whom, up to when
  std::vector<SharedByte> bytes_;
};

// One for each worker, kept from launch to launch: its size is that of all shared memory.
thread_local SharedRaces shared_races;

// ---- Device memory

constexpr std::uintptr_t sector_bytes = 32;

// What the blocks of a launch did to a sector. As long as it is one block, its masks say it all.
struct Sector {
  std::uint32_t launch = 0;  // what follows belongs to this launch
  std::uint32_t block = 0;
  std::uint32_t read = 0, written = 0, updated = 0;  // bytes; updated: written atomically
  std::uint32_t read_pc = 0, write_pc = 0;           // offsets in the program
  bool shared = false;                               // several blocks: look into SharedSector
};
static_assert(sizeof(Sector) == 32);

// Several blocks: who wrote and who read each byte. Two readers are enough: one of them is another block than the
// writer.
struct SharedSector {
  static constexpr std::uint32_t nobody = ~0u;
  struct Byte {
    std::uint32_t writer = nobody, reader = nobody, second_reader = nobody;
    std::uint32_t write_pc = 0, read_pc = 0;
    bool atomic = false;
  };
  Byte bytes[sector_bytes];
};

class DeviceRaces {
public:
  struct Race {
    std::uint32_t other;  // block
    std::uint32_t pc;
    bool other_wrote, other_atomic;
  };

  // The accesses of a block to the bytes in mask of a sector.
  bool access(std::uintptr_t sector, std::uint32_t mask, std::uint32_t block, std::uint32_t launch, bool write,
              bool atomic, std::uint32_t pc, Race& race) {
    // Most sectors that blocks share are only read, and by all of them: those need no lock.
    std::atomic<std::uint64_t>& read_only = read_only_[sector];
    const std::uint64_t by_many = read_only.load(std::memory_order_relaxed);
    if (!write && by_many >> 32 == launch && (mask & ~static_cast<std::uint32_t>(by_many)) == 0) return false;
    const Guard guard(locks_[sector / 128 % std::size(locks_)].flag);
    Sector& s = sectors_[sector];
    if (s.launch != launch) s = {launch, block, 0, 0, 0, 0, 0, false};
    if (!s.shared && s.block == block) {
      note(s, mask, write, atomic, pc);
      return false;
    }
    if (!s.shared) {
      s.shared = true;
      SharedSector& bytes = shared_sector(sector) = {};
      for (unsigned i = 0; i < sector_bytes; ++i) {
        if (s.read >> i & 1) bytes.bytes[i].reader = s.block, bytes.bytes[i].read_pc = s.read_pc;
        if (s.written >> i & 1)
          bytes.bytes[i].writer = s.block, bytes.bytes[i].write_pc = s.write_pc,
          bytes.bytes[i].atomic = s.updated >> i & 1;
      }
      read_only.store(std::uint64_t{launch} << 32, std::memory_order_relaxed);
    }
    SharedSector& bytes = shared_sector(sector);
    bool found = false;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const unsigned i = std::countr_zero(rest);
      SharedSector::Byte& byte = bytes.bytes[i];
      found |= access(byte, block, write, atomic, pc, race);
      const bool is_read_only = byte.second_reader != SharedSector::nobody && byte.writer == SharedSector::nobody;
      if (is_read_only) {
        read_only.fetch_or(std::uint64_t{1} << i, std::memory_order_relaxed);
      } else {
        read_only.fetch_and(~(std::uint64_t{1} << i), std::memory_order_relaxed);
      }
    }
    return found;
  }

  void clear() {
    for (auto& shard : shards_) shard.sectors.clear();
  }

private:
  struct Guard {
    explicit Guard(std::atomic_flag& flag) : flag(flag) {
      while (flag.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Guard() { flag.clear(std::memory_order_release); }
    std::atomic_flag& flag;
  };

  static void note(Sector& s, std::uint32_t mask, bool write, bool atomic, std::uint32_t pc) {
    if (write) {
      s.written |= mask;
      s.updated = atomic ? s.updated | mask : s.updated & ~mask;
      s.write_pc = pc;
    } else {
      s.read |= mask;
      s.read_pc = pc;
    }
  }

  static bool access(SharedSector::Byte& byte, std::uint32_t block, bool write, bool atomic, std::uint32_t pc,
                     Race& race) {
    constexpr std::uint32_t nobody = SharedSector::nobody;
    bool found = false;
    if (byte.writer != nobody && byte.writer != block && !(atomic && byte.atomic)) {
      race = {byte.writer, byte.write_pc, true, byte.atomic};
      found = true;
    } else if (write) {
      const std::uint32_t reader = byte.reader != block ? byte.reader : byte.second_reader;
      if (reader != nobody) {
        race = {reader, byte.read_pc, false, false};
        found = true;
      }
    }
    if (write) {
      byte.writer = block;
      byte.write_pc = pc;
      byte.atomic = atomic;
    } else if (byte.reader == nobody || byte.reader == block) {
      byte.reader = block;
      byte.read_pc = pc;
    } else {
      byte.second_reader = block;
      byte.read_pc = pc;
    }
    return found;
  }

  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::uintptr_t, std::unique_ptr<SharedSector>> sectors;
  };

  SharedSector& shared_sector(std::uintptr_t sector) {
    Shard& shard = shards_[sector % std::size(shards_)];
    const std::scoped_lock lock(shard.mutex);
    auto& entry = shard.sectors[sector];
    if (entry == nullptr) entry = std::make_unique<SharedSector>();
    return *entry;
  }

  Sector* sectors_ = static_cast<Sector*>(reserve_shadow(sizeof(Sector), sector_bytes));
  // For sectors that several blocks share: the launch, and the bytes that two blocks have read and none has written.
  // One more reader of these is no news.
  std::atomic<std::uint64_t>* read_only_ =
      static_cast<std::atomic<std::uint64_t>*>(reserve_shadow(sizeof(std::uint64_t), sector_bytes));
  struct alignas(64) Lock {  // a cache line each: neighbours are used by different workers
    std::atomic_flag flag;
  };
  Lock locks_[1024];
  Shard shards_[64];
};

DeviceRaces& device_races() {
  static DeviceRaces races;
  return races;
}

// ---- The observer

class RaceCheck : public Observer {
public:
  explicit RaceCheck(Launch& launch) : launch_(launch), image_(program_image().begin) {
    if (!shared_variables().empty()) static_bytes_ = shared_variables().back().offset + shared_variables().back().bytes;
  }

  void begin_block(const BlockInfo& block) override {
    block_ = &block;
    shared_.begin_block(block.threads, static_bytes_ + block.dynamic_bytes);
  }
  void barrier(const BarrierEvent&, std::span<const Standing>) override { shared_.block_barrier(); }
  void collective(const CollectiveEvent& event) override {
    if (event.operation == Collective::warp_barrier) shared_.warp_barrier(event.warp, event.participants);
  }

  void access(const WarpAccess& access) override {
    if (access.space == Space::shared) {
      for (unsigned rest = access.mask; rest != 0; rest &= rest - 1) shared(access, std::countr_zero(rest));
    } else {
      device(access);
    }
  }

private:
  void shared(const WarpAccess& access, unsigned lane) {
    const std::uintptr_t in_dynamic = access.address[lane] - block_->dynamic_shared;
    const std::size_t index =
        in_dynamic < block_->dynamic_bytes ? static_bytes_ + in_dynamic : access.address[lane] - block_->shared_segment;
    if (index + access.bytes > static_bytes_ + block_->dynamic_bytes) return;  // the memory check's concern
    const unsigned thread = access.warp * lanes_per_warp + lane;
    SharedRaces::Race race{};
    bool found = false;
    for (unsigned byte = 0; byte < access.bytes; ++byte)
      found |= shared_.access(index + byte, thread, access.write, access.atomic, access.pc, race);
    if (!found) return;
    const bool same_warp = race.other / lanes_per_warp == access.warp;
    launch_.report("race", "threads of a block meet in shared memory with no barrier between them", {{}, access.pc},
                   *block_, thread,
                   "thread " + to_string(block_->thread(thread)) + " " + verb(access.write, access.atomic) +
                       " here; thread " + to_string(block_->thread(race.other)) + " " +
                       verb(race.other_wrote, race.other_atomic) + " at " + at(race.pc) +
                       (same_warp ? "; they are lanes of one warp, which __syncwarp() or __syncthreads() would order"
                                  : "; only __syncthreads() would order them"));
  }

  // Lanes that stand side by side touch a sector together.
  void device(const WarpAccess& access) {
    const std::uintptr_t begin = device_memory_begin();
    std::uintptr_t sector = ~std::uintptr_t{0};
    std::uint32_t mask = 0;
    unsigned first = 0;
    for (unsigned rest = access.mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = std::countr_zero(rest);
      const std::uintptr_t at = access.address[lane] - begin;
      if (at / sector_bytes != sector) {
        if (mask != 0) device(access, sector, mask, first);
        sector = at / sector_bytes;
        mask = 0;
        first = lane;
      }
      mask |= (~0u >> (32 - access.bytes)) << at % sector_bytes;
    }
    device(access, sector, mask, first);
  }

  void device(const WarpAccess& access, std::uintptr_t sector, std::uint32_t mask, unsigned lane) {
    DeviceRaces::Race race{};
    if (!device_races().access(sector, mask, static_cast<std::uint32_t>(block_->number), launch_.number, access.write,
                               access.atomic, static_cast<std::uint32_t>(access.pc - image_), race)) {
      return;
    }
    const Allocation* buffer = allocation_before(access.address[lane]);
    launch_.report("race", "blocks of one launch meet in buffer '" + (buffer == nullptr ? "?" : buffer->name) + "'",
                   {{}, access.pc}, *block_, access.warp * lanes_per_warp + lane,
                   "block " + to_string(block_->index) + " " + verb(access.write, access.atomic) + " here; block " +
                       to_string(launch_.block_info(race.other).index) + " " +
                       verb(race.other_wrote, race.other_atomic) + " at " + at(image_ + race.pc) +
                       "; nothing orders the blocks of a launch",
                   Launch::Then::ends);  // how often the blocks meet depends on which runs first
  }

  Launch& launch_;
  const std::uintptr_t image_;
  const BlockInfo* block_ = nullptr;
  std::size_t static_bytes_ = 0;
  SharedRaces& shared_ = shared_races;
};

}  // namespace

std::unique_ptr<Observer> make_race_check(Launch& launch) { return std::make_unique<RaceCheck>(launch); }

void finish_races() { device_races().clear(); }

}  // namespace simt
