#include <simt/block.h>

#include <simt/launch_state.h>
#include <simt/memory.h>
#include <simt/runtime_api.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace simt {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

thread_local Block* running_block = nullptr;

namespace {

thread_local Block* block_of_worker = nullptr;

// From here to the end of the scope the thread is in the executor, not in its kernel.
struct InExecutor {
  InExecutor() { running_block = nullptr; }
  ~InExecutor() { running_block = block_of_worker; }
};

constexpr unsigned max_threads = 1024;
// Below each stack: running over it ends the program (watch.h). Kernels are compiled to touch each page of a large
// frame in turn (-fstack-clash-protection); the functions of the C library are not, and their frames are smaller than
// this.
constexpr std::size_t guard_bytes = 16 << 10;
constexpr std::size_t max_static_shared = 48 << 10;  // so far an overrun of a __shared__ array may reach

// Stacks of a whole number of pages would put the same variable of every lane into the same few cache sets.
constexpr std::size_t stack_stagger = 320, stack_stagger_range = 8 << 10;

constexpr unsigned char poison_byte = 0xff;  // a NaN in every float, -1 in every int

unsigned bit(unsigned lane) { return 1u << (lane % lanes_per_warp); }
unsigned lanes_below(unsigned count) { return count >= lanes_per_warp ? ~0u : (1u << count) - 1; }

// A jump hands over the address at which the context that it left is to be kept.
void keep_context(transfer_t from) { *static_cast<fcontext_t*>(from.data) = from.fctx; }

}  // namespace

Block::Block() : image_begin_(program_image().begin) {
  const std::size_t bytes = max_threads * (stack_bytes + guard_bytes);
  void* stacks = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) throw std::bad_alloc();
  stacks_ = {reinterpret_cast<std::uintptr_t>(stacks), reinterpret_cast<std::uintptr_t>(stacks) + bytes};
  const auto dynamic = reinterpret_cast<std::uintptr_t>(::operator new (most_shared_bytes, std::align_val_t{128}));
  dynamic_ = {dynamic, dynamic + most_shared_bytes};
  device_ = {device_memory_begin(), device_memory_begin() + device_memory_bytes};
  // The __shared__ variables lie among the program's other thread-local variables: from the first to the end of the
  // last.
  const auto& variables = shared_variables();
  const std::uintptr_t segment = thread_local_segment().begin;
  if (!variables.empty())
    shared_ = {segment + variables.front().offset, segment + variables.back().offset + variables.back().bytes};
}

Block::~Block() {
  munmap(reinterpret_cast<void*>(stacks_.begin), stacks_.end - stacks_.begin);
  ::operator delete (dynamic_shared(), std::align_val_t{128});
}

void Block::begin(Launch& launch) {
  launch_ = &launch;
  const dim3 dimension = launch.block;
  const unsigned threads = dimension.x * dimension.y * dimension.z;
  warp_count_ = (threads + lanes_per_warp - 1) / lanes_per_warp;
  while (warps_.size() < warp_count_) warps_.push_back(std::make_unique<Warp>());
  for (std::size_t id = lanes_.size(); id < threads; ++id) {
    void* stack = reinterpret_cast<void*>(stacks_.begin + id * (stack_bytes + guard_bytes) + guard_bytes);
    if (mprotect(stack, stack_bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    lanes_.emplace_back();
    standing_.emplace_back();
    callers_.emplace_back();
  }
  for (unsigned id = 0; id < threads; ++id) {
    lanes_[id].id = id;
    lanes_[id].index = {id % dimension.x, id / dimension.x % dimension.y, id / (dimension.x * dimension.y)};
  }
  observers_.clear();
  if (launch.checks.sync) observers_.push_back(make_sync_check(launch));
  if (launch.checks.memory) observers_.push_back(make_memory_check(launch));
  if (launch.checks.init) observers_.push_back(make_init_check(launch));
  if (launch.checks.race) observers_.push_back(make_race_check(launch));
  if (launch.counting) observers_.push_back(make_counter(launch));
  if (launch.tracing != nullptr) observers_.push_back(make_tracer(launch));
}

void Block::end() {
  for (auto& observer : observers_) observer->end();
  observers_.clear();
}

void Block::run(std::uint64_t number) {
  info_ = launch_->block_info(number);
  info_.shared_segment = thread_local_segment().begin;
  info_.dynamic_shared = dynamic_.begin;
  live_ = info_.threads;
  at_barrier_ = 0;
  for (unsigned w = 0; w < warp_count_; ++w) {
    Warp& warp = *warps_[w];
    warp.live = warp.ready = lanes_below(info_.threads - w * lanes_per_warp);
    warp.waiting = warp.paused = 0;
    std::fill(std::begin(warp.log.size), std::end(warp.log.size), std::uint16_t{0});
  }
  // Shared memory starts with no value; the last block's values must not pass for this one's.
  for (const SharedVariable& variable : shared_variables())
    std::memset(reinterpret_cast<void*>(info_.shared_segment + variable.offset), poison_byte, variable.bytes);
  std::memset(dynamic_shared(), poison_byte, info_.dynamic_bytes);

  for (unsigned id = 0; id < info_.threads; ++id) {
    const std::uintptr_t bottom = stacks_.begin + id * (stack_bytes + guard_bytes) + guard_bytes;
    const std::size_t stagger = id * stack_stagger % stack_stagger_range / 64 * 64;
    lanes_[id].context =
        make_fcontext(reinterpret_cast<void*>(bottom + stack_bytes - stagger), stack_bytes - stagger, lane_main);
    lanes_[id].path = 0;
    lanes_[id].depth = 0;
    standing_[id].state = LaneState::ready;
  }
  for (auto& observer : observers_) observer->begin_block(info_);

  shuffled_ = launch_->seed != 0;
  if (shuffled_) random_.seed(launch_->seed * 0x9e3779b97f4a7c15u + number);  // the same on every worker
  make_current(lanes_[0]);
  if (shuffled_) make_current(*next_lane());
  block_of_worker = this;
  jump_fcontext(current_->context, &worker_context_);
  block_of_worker = nullptr;
}

const Block* Block::of_worker() { return block_of_worker; }

bool Block::beyond_stack(std::uintptr_t address) const {
  return stacks_.contains(address) && (address - stacks_.begin) % (stack_bytes + guard_bytes) < guard_bytes;
}

// ---- Switching between threads

void Block::lane_main(transfer_t from) {
  keep_context(from);
  Block& block = *block_of_worker;
  running_block = &block;
  block.launch_->call.invoke(block.launch_->call.arguments);
  running_block = nullptr;
  block.exit_lane();
}

void Block::exit_lane() {
  const unsigned id = current_->id, w = id / lanes_per_warp;
  Warp& warp = *warps_[w];
  standing_[id].state = LaneState::exited;
  --live_;
  warp.ready &= ~bit(id);
  warp.live &= ~bit(id);
  // Whoever waits for this thread need wait no longer.
  complete_collectives_of(w);
  if (warp.live == 0) flush(w, ~0u);
  if (live_ == 0) leave();
  if (at_barrier_ == live_) release_barrier();
  switch_to_next();
  __builtin_unreachable();
}

// Neighbours first: lanes of one warp run one after the other, in the order of their numbers, then the next warp. With
// a seed, any warp and any lane of it.
Lane* Block::next_lane() {
  const unsigned here = shuffled_ ? static_cast<unsigned>(random_() % warp_count_) : current_->id / lanes_per_warp;
  for (unsigned step = 0; step < warp_count_; ++step) {
    const unsigned w = here + step < warp_count_ ? here + step : here + step - warp_count_;
    Warp& warp = *warps_[w];
    if (warp.ready == 0 && warp.paused != 0) {
      flush(w, ~0u);
      warp.ready = warp.paused;
      warp.paused = 0;
    }
    if (warp.ready == 0) continue;
    if (shuffled_) {
      const unsigned lane = static_cast<unsigned>(random_() % lanes_per_warp);
      const unsigned turned = std::countr_zero(std::rotr(warp.ready, static_cast<int>(lane)));
      return &lanes_[w * lanes_per_warp + (lane + turned) % lanes_per_warp];
    }
    const unsigned above = step == 0 ? warp.ready & ~lanes_below(current_->id % lanes_per_warp + 1) : 0;
    return &lanes_[w * lanes_per_warp + std::countr_zero(above != 0 ? above : warp.ready)];
  }
  return nullptr;
}

void Block::switch_to_next() {
  Lane* next = next_lane();
  if (next == nullptr) {
    for (auto& observer : observers_) observer->stuck({standing_.data(), info_.threads});
    give_up();
  }
  if (next == current_) return;
  Lane* self = current_;
  make_current(*next);
  keep_context(jump_fcontext(next->context, &self->context));
}

void Block::make_current(Lane& lane) {
  current_ = &lane;
  current_warp_ = warps_[lane.id / lanes_per_warp].get();
}

// The fibers that have not ended are abandoned, not unwound: a kernel has nothing to clean up.
void Block::give_up() {
  for (unsigned w = 0; w < warp_count_; ++w) flush(w, ~0u);  // what came before the end is announced
  launch_->stop();
  leave();
}

void Block::leave() {
  fcontext_t abandoned;
  jump_fcontext(worker_context_, &abandoned);
  __builtin_unreachable();
}

// ---- Barriers and collectives

void Block::barrier(Site site) {
  const InExecutor in_executor;
  const unsigned id = current_->id;
  standing_[id] = {LaneState::at_barrier, site, {}, 0};
  warps_[id / lanes_per_warp]->ready &= ~bit(id);
  ++at_barrier_;
  if (at_barrier_ == live_) release_barrier();
  if (standing_[id].state != LaneState::ready) switch_to_next();
}

void Block::release_barrier() {
  for (unsigned w = 0; w < warp_count_; ++w) flush(w, ~0u);
  BarrierEvent event{{}, info_.threads - live_, true};
  for (unsigned id = 0; id < info_.threads; ++id) {
    Standing& standing = standing_[id];
    if (standing.state != LaneState::at_barrier) continue;
    if (event.site.file == nullptr) event.site = standing.site;
    event.uniform &= standing.site.line == event.site.line && standing.site.file == event.site.file;
  }
  for (auto& observer : observers_) observer->barrier(event, {standing_.data(), info_.threads});
  for (unsigned id = 0; id < info_.threads; ++id)
    if (standing_[id].state == LaneState::at_barrier) standing_[id].state = LaneState::ready;
  for (unsigned w = 0; w < warp_count_; ++w) warps_[w]->ready = warps_[w]->live;
  at_barrier_ = 0;
}

std::uint64_t Block::collective(Collective operation, unsigned mask, std::uint64_t value, int argument, int width,
                                Site site) {
  const InExecutor in_executor;
  Lane& self = *current_;
  const unsigned w = self.id / lanes_per_warp;
  self.value = value;
  self.argument = argument;
  self.width = width;
  standing_[self.id] = {LaneState::at_collective, site, operation, mask};
  if ((mask & bit(self.id)) == 0) {  // nobody waits for a lane that its own mask leaves out
    const CollectiveEvent event{w, operation, site, mask, bit(self.id), 0, 0, width, true};
    for (auto& observer : observers_) observer->collective(event);
    standing_[self.id].state = LaneState::ready;
    return value;
  }
  warps_[w]->ready &= ~bit(self.id);
  warps_[w]->waiting |= bit(self.id);
  if (!complete_collective(w, mask)) switch_to_next();
  return self.value;
}

// If every lane of the mask that has not exited is there, computes all their results and lets them go.
bool Block::complete_collective(unsigned w, unsigned mask) {
  Warp& warp = *warps_[w];
  const unsigned participants = mask & warp.live;
  if (participants == 0 || (participants & ~warp.waiting) != 0) return false;
  Lane* lanes = &lanes_[std::size_t{w} * lanes_per_warp];
  const Standing* standing = &standing_[std::size_t{w} * lanes_per_warp];
  const unsigned first = std::countr_zero(participants);
  const Collective operation = standing[first].operation;
  CollectiveEvent event{
      w, operation, standing[first].site, mask, participants, mask & ~warp.live, 0, lanes[first].width, true};
  for (unsigned rest = participants; rest != 0; rest &= rest - 1) {
    const unsigned l = std::countr_zero(rest);
    if (standing[l].mask != mask) return false;  // it waits for others
    event.uniform &= standing[l].operation == operation;
  }

  std::uint64_t ballot = 0;
  std::uint64_t value[lanes_per_warp];
  for (unsigned rest = participants; rest != 0; rest &= rest - 1) {
    const unsigned l = std::countr_zero(rest);
    value[l] = lanes[l].value;
    if (value[l] & 1) ballot |= bit(l);
  }
  // Source lanes as the PTX manual defines shfl.sync: a source outside of the lane's segment is the lane itself.
  for (unsigned rest = participants; rest != 0; rest &= rest - 1) {
    const unsigned l = std::countr_zero(rest);
    const int width = lanes[l].width, lane = static_cast<int>(l);
    const int begin = lane & ~(width - 1), end = begin + width;
    int source = lane;
    switch (standing[l].operation) {
      case Collective::shuffle_xor:
        source = lane ^ lanes[l].argument;
        if (source >= end) source = lane;
        break;
      case Collective::shuffle_down:
        source = lane + lanes[l].argument;
        if (source >= end) source = lane;
        break;
      case Collective::shuffle_up:
        source = lane - lanes[l].argument;
        if (source < begin) source = lane;
        break;
      case Collective::shuffle_index: source = begin | (lanes[l].argument & (width - 1)); break;
      case Collective::ballot: lanes[l].value = ballot; continue;
      case Collective::any: lanes[l].value = ballot != 0; continue;
      case Collective::all: lanes[l].value = ballot == participants; continue;
      case Collective::warp_barrier: continue;
    }
    source &= lanes_per_warp - 1;
    if ((participants >> source & 1) == 0)
      event.unread |= bit(l);
    else
      lanes[l].value = value[source];
  }

  flush(w, participants);
  for (auto& observer : observers_) observer->collective(event);
  warp.waiting &= ~participants;
  warp.ready |= participants;
  for (unsigned rest = participants; rest != 0; rest &= rest - 1)
    standing_[w * lanes_per_warp + std::countr_zero(rest)].state = LaneState::ready;
  return true;
}

void Block::complete_collectives_of(unsigned w) {
  for (unsigned rest = warps_[w]->waiting; rest != 0; rest &= rest - 1) {
    const unsigned l = std::countr_zero(rest);
    if (warps_[w]->waiting >> l & 1) complete_collective(w, standing_[w * lanes_per_warp + l].mask);
  }
}

unsigned Block::active_mask() const {
  // One lane runs at a time here; the lanes that a GPU would run together are those that are not waiting anywhere.
  return current_warp_->ready | current_warp_->paused;
}

void Block::fail_assertion(const char* expression, Site site) {
  running_block = nullptr;
  launch_->report("assert", std::string("assertion failed: ") + expression, {site, 0}, info_, current_->id, "",
                  Launch::Then::ends);
  give_up();
}

// ---- Accesses

// The log is full: the other lanes of the warp run until theirs are too, then all are announced together.
void Block::pause() {
  const InExecutor in_executor;
  current_warp_->ready &= ~bit(current_->id);
  current_warp_->paused |= bit(current_->id);
  switch_to_next();
}

void Block::unusual_access(std::uintptr_t address, unsigned bytes, bool write, std::uintptr_t pc) {
  const InExecutor in_executor;
  const auto arguments = reinterpret_cast<std::uintptr_t>(launch_->call.arguments);
  if (address - arguments < launch_->call.argument_bytes) return;  // the kernel's parameters
  if (!write && read_only_image().contains(address)) return;       // constants of the program
  const Range thread_locals = thread_local_segment();
  LaneFault fault{LaneFault::host_memory, pc, current_->id, address, bytes, write};
  if (device_.contains(address) || shared_.contains(address) || dynamic_.contains(address)) {
    fault.kind = LaneFault::misaligned;
  } else if (address - thread_locals.begin < thread_locals.end - thread_locals.begin + max_static_shared) {
    fault.kind = LaneFault::beside_shared_memory;
  } else {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    if (msync(reinterpret_cast<void*>(address & ~(page - 1)), 1, MS_ASYNC) != 0 && errno == ENOMEM)
      fault.kind = LaneFault::unmapped;
  }
  for (auto& observer : observers_) observer->fault(fault);
  // A GPU stops here too. A write into the program's own memory must not happen either: it might be the executor's.
  if (fault.ends_launch()) give_up();
}

void Block::enter_function(std::uintptr_t caller) {
  Lane& self = *current_;
  if (self.depth < max_call_depth) callers_[self.id][self.depth] = self.path;
  ++self.depth;
  self.path =
      static_cast<std::uint16_t>((self.path + static_cast<std::uint32_t>(caller - image_begin_)) * 0x9e3779b1u >> 16);
}

void Block::leave_function() {
  Lane& self = *current_;
  if (self.depth == 0) return;
  --self.depth;
  if (self.depth < max_call_depth) self.path = callers_[self.id][self.depth];
}

// Hands the accesses of these lanes to the observers, a request at a time, and forgets them.
void Block::flush(unsigned w, unsigned lanes) {
  AccessLog& log = warps_[w]->log;
  unsigned mask = 0, longest = 0;
  bool alike = true;  // every lane that accessed anything ran the same instructions
  for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
    const unsigned l = std::countr_zero(rest);
    if (log.size[l] == 0) continue;
    alike &= longest == 0 || log.size[l] == longest;
    longest = std::max<unsigned>(longest, log.size[l]);
    mask |= bit(l);
  }
  if (mask == 0) return;

  const unsigned first = std::countr_zero(mask);
  if (mask == ~0u && alike) {
    for (unsigned n = 0; n < longest && alike; ++n) {
      std::uint64_t difference = 0;
      for (unsigned l = 0; l < lanes_per_warp; ++l) difference |= log.key[n][l] ^ log.key[n][0];
      alike = difference == 0;
    }
  } else if (alike) {
    for (unsigned n = 0; n < longest && alike; ++n)
      for (unsigned rest = mask; rest != 0; rest &= rest - 1)
        alike &= log.key[n][std::countr_zero(rest)] == log.key[n][first];
  }

  if (alike) {
    for (unsigned n = 0; n < longest; ++n) announce(w, mask, log.key[n][first], log.address[n]);
  } else {
    announce_diverged(w, mask);
  }
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) log.size[std::countr_zero(rest)] = 0;
}

// Lanes went different ways: their accesses are merged into one sequence that keeps the order of each lane. An access
// joins the next request of its instruction that the lane has not passed, or else becomes a request of its own.
void Block::announce_diverged(unsigned w, unsigned mask) {
  struct Request {
    std::uint64_t key;
    unsigned mask;
    std::uintptr_t address[lanes_per_warp];
  };
  const AccessLog& log = warps_[w]->log;
  std::vector<Request> requests;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned l = std::countr_zero(rest);
    std::size_t next = 0;  // behind the lane's last request
    for (unsigned n = 0; n < log.size[l]; ++n) {
      const std::uint64_t key = log.key[n][l];
      std::size_t at = next;
      while (at < requests.size() && requests[at].key != key) ++at;
      if (at == requests.size()) {
        at = next;
        requests.insert(requests.begin() + static_cast<std::ptrdiff_t>(at), {key, 0, {}});
      }
      requests[at].mask |= bit(l);
      requests[at].address[l] = log.address[n][l];
      next = at + 1;
    }
  }
  for (const Request& request : requests) announce(w, request.mask, request.key, request.address);
}

void Block::announce(unsigned w, unsigned mask, std::uint64_t key, const std::uintptr_t* address) {
  const WarpAccess access{image_begin_ + static_cast<std::uint32_t>(key),
                          w,
                          mask,
                          (key & AccessLog::shared_bit) != 0 ? Space::shared : Space::global,
                          (key & AccessLog::write_bit) != 0,
                          (key & AccessLog::atomic_bit) != 0,
                          static_cast<unsigned>(key >> 48 & 0xff),
                          address};
  for (auto& observer : observers_) observer->access(access);
}

}  // namespace simt
