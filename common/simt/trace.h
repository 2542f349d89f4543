/// What one block of a launch did, request by request: for pictures and for questions that counts cannot answer.
///
///   TraceScope trace;
///   copy::scalar(args, nullptr);
///   trace.launches().front().requests.front().address[5]
#pragma once

#include <simt/dim3.h>
#include <simt/observer.h>
#include <simt/operations.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simt {

/// One request, as it was announced.
struct TracedRequest {
  std::uintptr_t pc = 0;  // where_is(pc) in symbols.h gives file and line
  unsigned warp = 0;
  unsigned mask = 0;  // the lanes that take part
  Space space = Space::global;
  bool store = false;
  bool atomic = false;
  unsigned lane_bytes = 0;                               // bytes a lane
  std::string buffer;                                    // of the first lane: a buffer or a __shared__ variable
  std::uintptr_t base = 0;                               // address of its first byte
  std::array<std::uintptr_t, lanes_per_warp> address{};  // of each lane of the mask
};

/// What a warp did between two barriers.
struct WarpPhase {
  std::uint64_t global_requests = 0;
  std::uint64_t shared_requests = 0;
  std::uint64_t shuffles = 0;       // shuffles and votes
  std::uint64_t warp_barriers = 0;  // __syncwarp

  bool operator==(const WarpPhase&) const = default;
};

struct BlockTrace {
  std::string kernel;
  dim3 grid, block;
  std::uint64_t number = 0;                    // of the block; x fastest, then y, then z
  std::vector<TracedRequest> requests;         // of each warp the first ones, in its order
  std::vector<std::vector<WarpPhase>> phases;  // [barriers + 1][warps]
  std::vector<Site> barriers;                  // the n-th lies between phases n and n + 1
};

struct TraceOptions {
  std::uint64_t block = 0;     // the block that is traced in each launch
  std::size_t requests = 256;  // kept of each warp; phases count them all
};

/// While it lives, every launch from this thread that runs the chosen block adds its trace. Of several scopes the
/// innermost one traces. Without one nothing is recorded.
class TraceScope {
public:
  explicit TraceScope(TraceOptions options = {});
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  const std::vector<BlockTrace>& launches() const { return launches_; }
  const TraceOptions& options() const { return options_; }
  void add(BlockTrace trace) { launches_.push_back(std::move(trace)); }

private:
  TraceOptions options_;
  std::vector<BlockTrace> launches_;
  TraceScope* outer_;
};

/// The innermost TraceScope of this thread, or null.
TraceScope* open_trace();

}  // namespace simt
