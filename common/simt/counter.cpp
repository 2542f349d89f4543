// The counter: requests, lanes, bytes, sectors, and which sectors the launch touched at all.
#include <simt/counts.h>
#include <simt/launch_state.h>
#include <simt/memory.h>
#include <simt/observer.h>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

namespace simt {

namespace {

constexpr std::uintptr_t sector_bytes = 32;
constexpr std::uint64_t bank_bytes = 128;  // what the 32 banks of shared memory hand out in a round

// A bit for each sector of device memory, shared by all workers of a launch. Reserved for the whole of it; what a
// launch used is remembered in steps of a page of bits (1 MiB of device memory), so that clearing costs as much as
// using.
class TouchedSectors {
public:
  TouchedSectors()
      : words_(reserve<std::atomic<std::uint64_t>>(sectors / 64)),
        pages_(reserve<std::atomic<bool>>(sectors / sectors_per_page)) {}

  void touch(std::uintptr_t first, std::uintptr_t last) {  // sector numbers from the begin of device memory, inclusive
    for (std::uintptr_t word = first / 64; word <= last / 64; ++word) {
      const unsigned from = word == first / 64 ? first % 64 : 0, to = word == last / 64 ? last % 64 : 63;
      const std::uint64_t bits = (~std::uint64_t{0} >> (63 - (to - from))) << from;
      if ((words_[word].load(std::memory_order_relaxed) & bits) == bits) continue;
      words_[word].fetch_or(bits, std::memory_order_relaxed);
      auto& page = pages_[word * 64 / sectors_per_page];
      if (!page.load(std::memory_order_relaxed) && !page.exchange(true)) {
        const std::scoped_lock lock(mutex_);
        used_.push_back(word * 64 / sectors_per_page);
      }
    }
  }

  // Bytes touched by allocation; leaves no sector touched.
  std::map<const Allocation*, std::uint64_t> take() {
    std::map<const Allocation*, std::uint64_t> bytes;
    for (const std::size_t page : used_) {
      for (std::size_t word = page * sectors_per_page / 64; word < (page + 1) * sectors_per_page / 64; ++word) {
        // Allocations begin on pages of 4 KiB, two words of sectors: a word never belongs to two of them.
        const std::uint64_t bits = words_[word].exchange(0, std::memory_order_relaxed);
        if (bits != 0)
          bytes[allocation_before(device_memory_begin() + word * 64 * sector_bytes)] +=
              std::popcount(bits) * sector_bytes;
      }
      pages_[page] = false;
    }
    used_.clear();
    return bytes;
  }

private:
  static constexpr std::size_t sectors = device_memory_bytes / sector_bytes;
  static constexpr std::size_t sectors_per_page = std::size_t{8} * 4096;

  template <class T>
  static T* reserve(std::size_t count) {
    void* memory =
        mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }

  std::atomic<std::uint64_t>* words_;
  std::atomic<bool>* pages_;
  std::mutex mutex_;
  std::vector<std::size_t> used_;
};

// Loads and stores apart: a sector that is read and written is moved twice.
TouchedSectors& touched(bool write) {
  static TouchedSectors sectors[2];
  return sectors[write];
}

// The sectors that a block has loaded: a hash table that is emptied in as many steps as it has entries.
class SectorSet {
public:
  // False if it was there already.
  bool insert(std::uintptr_t sector) {
    if (used_.size() * 2 >= slots_.size()) grow();
    std::size_t& slot = find(sector);
    if (slot != empty) return false;
    slot = sector;
    used_.push_back(&slot);
    return true;
  }

  void clear() {
    for (std::size_t* slot : used_) *slot = empty;
    used_.clear();
  }

private:
  static constexpr std::size_t empty = ~std::size_t{0};

  std::size_t& find(std::uintptr_t sector) {
    std::size_t at = sector * 0x9e3779b97f4a7c15u >> shift_;
    while (slots_[at] != empty && slots_[at] != sector) at = (at + 1) % slots_.size();
    return slots_[at];
  }

  void grow() {
    std::vector<std::size_t> old(slots_.size() * 2, empty);
    old.swap(slots_);
    --shift_;
    used_.clear();
    for (const std::size_t sector : old) {
      if (sector == empty) continue;
      std::size_t& slot = find(sector);
      slot = sector;
      used_.push_back(&slot);
    }
  }

  unsigned shift_ = 64 - 11;
  std::vector<std::size_t> slots_ = std::vector<std::size_t>(2048, empty);
  std::vector<std::size_t*> used_;
};

class Counter : public Observer {
public:
  explicit Counter(Launch& launch) : launch_(launch) {}

  void begin_block(const BlockInfo&) override {
    ++blocks_;
    loaded_.clear();
  }

  void barrier(const BarrierEvent&, std::span<const Standing>) override { ++barriers_; }

  void collective(const CollectiveEvent& event) override {
    if (event.operation == Collective::warp_barrier)
      ++warp_barriers_;
    else
      ++shuffles_;
  }

  void access(const WarpAccess& access) override {
    const unsigned lanes = std::popcount(access.mask);
    const bool global = access.space == Space::global;
    const Allocation* buffer = nullptr;
    if (global) {
      const std::uintptr_t first = access.address[std::countr_zero(access.mask)];
      const Allocation*& known = known_[access.pc % std::size(known_)];
      if (known == nullptr || first < known->base || first >= known->base + known->reserved)
        known = allocation_before(first);
      buffer = known;
    }
    Counted& site = sites_[{access.pc, buffer, access.bytes, access.write, !global}];
    AccessCounts& counts = site.counts;
    const std::int64_t needless = needless_so_far(counts);
    const std::uint64_t bytes = std::uint64_t{lanes} * access.bytes;
    ++counts.requests;
    counts.lanes += lanes;
    counts.bytes += bytes;
    if (global) {
      counts.ideal_sectors += (bytes + sector_bytes - 1) / sector_bytes;
      count_sectors(access, counts);
    } else {
      counts.ideal_wavefronts += (bytes + bank_bytes - 1) / bank_bytes;
      counts.wavefronts += wavefronts(access);
    }
    if (needless_so_far(counts) > needless && site.distance.kind != LaneDistance::several)
      site.distance += lane_distance(access);
  }

  void end() override {
    LaunchCounts counts;
    counts.blocks = blocks_;
    counts.barriers = barriers_;
    counts.warp_barriers = warp_barriers_;
    counts.shuffles = shuffles_;
    for (const auto& [site, counted] : sites_) {
      const AccessCounts& accesses = counted.counts;
      if (site.shared) {
        (site.write ? counts.shared_stores : counts.shared_loads) += accesses;
      } else {
        BufferCounts buffer{site.buffer == nullptr ? "outside" : site.buffer->name, {}, {}, 0, 0};
        (site.write ? buffer.stores : buffer.loads) += accesses;
        LaunchCounts part;
        part.buffers.push_back(std::move(buffer));
        counts += part;
      }
      counts.sites.push_back({site.pc,
                              site.shared              ? "shared"
                              : site.buffer == nullptr ? "outside"
                                                       : site.buffer->name,
                              site.shared, site.write, site.bytes, accesses, counted.distance});
    }
    launch_.add(counts);
  }

private:
  struct Site {
    std::uintptr_t pc;
    const Allocation* buffer;
    unsigned bytes;
    bool write, shared;
    bool operator==(const Site&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Site& site) const {
      return site.pc * 31 + reinterpret_cast<std::uintptr_t>(site.buffer);
    }
  };

  struct Counted {
    AccessCounts counts;
    LaneDistance distance;
  };

  static std::int64_t needless_so_far(const AccessCounts& counts) {
    return static_cast<std::int64_t>(counts.sectors + counts.wavefronts) -
           static_cast<std::int64_t>(counts.ideal_sectors + counts.ideal_wavefronts);
  }

  static LaneDistance lane_distance(const WarpAccess& access) {
    LaneDistance distance;
    for (unsigned rest = access.mask & access.mask >> 1; rest != 0; rest &= rest - 1) {
      const std::uintptr_t* lane = access.address + std::countr_zero(rest);
      distance += {LaneDistance::one, static_cast<std::int64_t>(lane[1] - lane[0])};
    }
    return distance;
  }

  // A request is served in parts of at most 128 bytes: 32 lanes of 4 bytes, 16 of 8, 8 of 16. In each part a bank hands
  // out one word at a time; lanes that want the same word share it.
  static unsigned wavefronts(const WarpAccess& access) {
    const unsigned lanes_a_part = access.bytes <= 4 ? 32 : 128 / access.bytes;
    unsigned rounds = 0;
    for (unsigned first = 0; first < lanes_per_warp; first += lanes_a_part) {
      std::uintptr_t words[lanes_per_warp];
      unsigned count = 0;
      for (unsigned lane = first; lane < first + lanes_a_part; ++lane) {
        if ((access.mask >> lane & 1) == 0) continue;
        for (unsigned byte = 0; byte < access.bytes; byte += 4) words[count++] = (access.address[lane] + byte) / 4;
      }
      std::sort(words, words + count);
      count = static_cast<unsigned>(std::unique(words, words + count) - words);
      unsigned of_bank[32] = {}, most = 0;
      for (unsigned i = 0; i < count; ++i) most = std::max(most, ++of_bank[words[i] % 32]);
      rounds += most;
    }
    return rounds;
  }

  void count_sectors(const WarpAccess& access, AccessCounts& counts) {
    const std::uintptr_t begin = device_memory_begin();
    std::uintptr_t distinct[2 * lanes_per_warp];
    unsigned count = 0;
    bool sorted = true;
    for (unsigned rest = access.mask; rest != 0; rest &= rest - 1) {
      const std::uintptr_t at = access.address[std::countr_zero(rest)] - begin;
      const std::uintptr_t sector = at / sector_bytes;  // an aligned access of at most 16 bytes lies in one sector
      if (count != 0 && distinct[count - 1] == sector) continue;
      sorted &= count == 0 || distinct[count - 1] < sector;
      distinct[count++] = sector;
    }
    if (!sorted) {
      std::sort(distinct, distinct + count);
      count = static_cast<unsigned>(std::unique(distinct, distinct + count) - distinct);
    }
    TouchedSectors& sectors = touched(access.write);
    for (unsigned i = 0; i < count;) {  // runs of neighbours at once
      unsigned end = i + 1;
      while (end < count && distinct[end] == distinct[end - 1] + 1) ++end;
      sectors.touch(distinct[i], distinct[end - 1]);
      i = end;
    }
    counts.sectors += count;
    if (access.write) return;
    for (unsigned i = 0; i < count; ++i) counts.sectors_again += !loaded_.insert(distinct[i]);
  }

  Launch& launch_;
  std::uint64_t blocks_ = 0, barriers_ = 0, warp_barriers_ = 0, shuffles_ = 0;
  const Allocation* known_[64] = {};
  SectorSet loaded_;  // by the block that runs
  std::unordered_map<Site, Counted, Hash> sites_;
};

}  // namespace

std::unique_ptr<Observer> make_counter(Launch& launch) { return std::make_unique<Counter>(launch); }

// ---- The figures

AccessCounts& AccessCounts::operator+=(const AccessCounts& other) {
  requests += other.requests;
  lanes += other.lanes;
  bytes += other.bytes;
  sectors += other.sectors;
  ideal_sectors += other.ideal_sectors;
  sectors_again += other.sectors_again;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  return *this;
}

LaneDistance& LaneDistance::operator+=(const LaneDistance& other) {
  if (kind == none)
    *this = other;
  else if (other.kind == several || (other.kind == one && other.bytes != bytes))
    *this = {several, 0};
  return *this;
}

LaunchCounts& LaunchCounts::operator+=(const LaunchCounts& other) {
  if (kernel.empty()) kernel = other.kernel;
  launches += other.launches;
  blocks += other.blocks;
  barriers += other.barriers;
  warp_barriers += other.warp_barriers;
  shuffles += other.shuffles;
  shared_loads += other.shared_loads;
  shared_stores += other.shared_stores;
  for (const BufferCounts& theirs : other.buffers) {
    auto ours = std::lower_bound(buffers.begin(), buffers.end(), theirs.name,
                                 [](const auto& b, const auto& name) { return b.name < name; });
    if (ours == buffers.end() || ours->name != theirs.name) ours = buffers.insert(ours, {theirs.name, {}, {}, 0, 0});
    ours->loads += theirs.loads;
    ours->stores += theirs.stores;
    ours->bytes_touched_by_loads += theirs.bytes_touched_by_loads;
    ours->bytes_touched_by_stores += theirs.bytes_touched_by_stores;
  }
  for (const SiteCounts& theirs : other.sites) {
    const auto key = [](const SiteCounts& s) { return std::tie(s.pc, s.buffer, s.store, s.lane_bytes); };
    auto ours = std::lower_bound(sites.begin(), sites.end(), theirs,
                                 [&](const auto& a, const auto& b) { return key(a) < key(b); });
    if (ours == sites.end() || key(*ours) != key(theirs)) {
      sites.insert(ours, theirs);
    } else {
      ours->counts += theirs.counts;
      ours->distance += theirs.distance;
    }
  }
  return *this;
}

BufferCounts LaunchCounts::buffer(const std::string& name) const {
  for (const BufferCounts& b : buffers)
    if (b.name == name) return b;
  return {name, {}, {}, 0, 0};
}

AccessCounts LaunchCounts::global_loads() const {
  AccessCounts sum;
  for (const BufferCounts& b : buffers) sum += b.loads;
  return sum;
}

AccessCounts LaunchCounts::global_stores() const {
  AccessCounts sum;
  for (const BufferCounts& b : buffers) sum += b.stores;
  return sum;
}

std::uint64_t LaunchCounts::bytes_requested() const { return global_loads().bytes + global_stores().bytes; }

std::uint64_t LaunchCounts::bytes_touched() const {
  std::uint64_t sum = 0;
  for (const BufferCounts& b : buffers) sum += b.bytes_touched_by_loads + b.bytes_touched_by_stores;
  return sum;
}

void finish_counts(LaunchCounts& counts) {
  for (const bool write : {false, true}) {
    for (const auto& [allocation, bytes] : touched(write).take()) {
      LaunchCounts part;
      BufferCounts buffer{allocation == nullptr ? "outside" : allocation->name, {}, {}, 0, 0};
      (write ? buffer.bytes_touched_by_stores : buffer.bytes_touched_by_loads) = bytes;
      part.buffers.push_back(std::move(buffer));
      counts += part;
    }
  }
}

namespace {
thread_local CountScope* innermost = nullptr;
}

CountScope::CountScope() : outer_(std::exchange(innermost, this)) {}
CountScope::~CountScope() { innermost = outer_; }

bool counting() { return innermost != nullptr; }

void deliver(const LaunchCounts& counts) {
  for (CountScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    scope->total_ += counts;
    scope->launches_.push_back(counts);
  }
}

}  // namespace simt
