/// What a host program says to the executor: run this kernel, only these blocks, on so many cores.
#pragma once

#include <simt/dim3.h>

#include <cstddef>
#include <cstdint>

namespace simt {

/// A kernel with its arguments, without its types: what the executor runs once for each thread.
struct KernelCall {
  const void* function;         // the kernel's address, for its name
  void (*invoke)(const void*);  // calls it with the arguments at this address
  const void* arguments;
  std::size_t argument_bytes;
};

/// Runs every thread of the grid and returns when all have ended. Sets the error that cudaGetLastError gives if the
/// configuration is out of range; throws FindingError if a check has a finding and no FindingScope is open.
void launch(const KernelCall& call, dim3 grid, dim3 block, std::size_t shared_bytes);

/// While it lives, launches from this thread run only the blocks [first, first + count) of their grids, in the order
/// x fastest, then y, then z. Every block still sees the whole grid's gridDim and its own blockIdx.
class LaunchWindow {
public:
  LaunchWindow(std::uint64_t first, std::uint64_t count);
  ~LaunchWindow();
  LaunchWindow(const LaunchWindow&) = delete;
  LaunchWindow& operator=(const LaunchWindow&) = delete;

private:
  std::uint64_t outer_first_, outer_count_;
};

/// Which checks look at launches. All of them, unless a benchmark asks what one costs.
struct Checks {
  bool sync = true, memory = true, init = true, race = true;
};
void set_checks(Checks checks);
Checks checks();

/// The order in which the lanes and warps of a block run: 0, the default, is the fixed one; any other seed shuffles it,
/// the same way every time. A missing barrier can give right values in one order and wrong ones in another. The
/// environment variable SIMT_SEED sets it when the program starts.
void set_seed(std::uint64_t seed);
std::uint64_t seed();

/// Worker threads that run blocks, 1 to 16; at first the number of cores. Not to be called during a launch.
void set_workers(unsigned count);
unsigned workers();

}  // namespace simt
