// The tracer: remembers what one block asked for and where it waited.
#include <simt/trace.h>

#include <simt/launch_state.h>
#include <simt/memory.h>
#include <simt/observer.h>
#include <simt/symbols.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace simt {

namespace {

thread_local TraceScope* innermost = nullptr;

class Tracer : public Observer {
public:
  explicit Tracer(Launch& launch) : launch_(launch) {}

  void begin_block(const BlockInfo& block) override {
    recording_ = block.number == launch_.tracing->options().block;
    if (!recording_) return;
    block_ = &block;
    has_trace_ = true;
    const unsigned warps = (block.threads + lanes_per_warp - 1) / lanes_per_warp;
    kept_.assign(warps, 0);
    trace_.kernel = kernel_name(launch_.call.function);
    trace_.grid = launch_.grid;
    trace_.block = launch_.block;
    trace_.number = block.number;
    trace_.phases.emplace_back(warps);
  }

  void access(const WarpAccess& access) override {
    if (!recording_) return;
    WarpPhase& phase = trace_.phases.back()[access.warp];
    ++(access.space == Space::shared ? phase.shared_requests : phase.global_requests);
    if (kept_[access.warp] == launch_.tracing->options().requests) return;
    ++kept_[access.warp];
    TracedRequest& request = trace_.requests.emplace_back();
    request.pc = access.pc;
    request.warp = access.warp;
    request.mask = access.mask;
    request.space = access.space;
    request.store = access.write;
    request.atomic = access.atomic;
    request.lane_bytes = access.bytes;
    for (unsigned rest = access.mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = std::countr_zero(rest);
      request.address[lane] = access.address[lane];
    }
    name(request, access.address[std::countr_zero(access.mask)]);
  }

  void barrier(const BarrierEvent& event, std::span<const Standing>) override {
    if (!recording_) return;
    trace_.barriers.push_back(event.site);
    trace_.phases.emplace_back(kept_.size());
  }

  void collective(const CollectiveEvent& event) override {
    if (!recording_) return;
    WarpPhase& phase = trace_.phases.back()[event.warp];
    ++(event.operation == Collective::warp_barrier ? phase.warp_barriers : phase.shuffles);
  }

  // One worker has run the block, so it alone adds to the scope; the launching thread waits for it.
  void end() override {
    if (has_trace_) launch_.tracing->add(std::move(trace_));
  }

private:
  void name(TracedRequest& request, std::uintptr_t address) const {
    request.buffer = "outside";
    if (request.space == Space::global) {
      const Allocation* buffer = allocation_before(address);
      if (buffer == nullptr) return;
      request.buffer = buffer->name;
      request.base = buffer->begin;
    } else if (address - block_->dynamic_shared < block_->dynamic_bytes) {
      request.buffer = "dynamic shared memory";
      request.base = block_->dynamic_shared;
    } else {
      for (const SharedVariable& variable : shared_variables()) {
        const std::uintptr_t begin = block_->shared_segment + variable.offset;
        if (address - begin >= variable.bytes) continue;
        request.buffer = variable.name;
        request.base = begin;
      }
    }
  }

  Launch& launch_;
  const BlockInfo* block_ = nullptr;
  bool recording_ = false;  // the block that runs now is the chosen one
  bool has_trace_ = false;
  std::vector<std::size_t> kept_;  // requests, by warp
  BlockTrace trace_;
};

}  // namespace

std::unique_ptr<Observer> make_tracer(Launch& launch) { return std::make_unique<Tracer>(launch); }

TraceScope::TraceScope(TraceOptions options) : options_(options), outer_(std::exchange(innermost, this)) {}
TraceScope::~TraceScope() { innermost = outer_; }

TraceScope* open_trace() { return innermost; }

}  // namespace simt
