/// LaunchWindow: run only some blocks of a grid, so that launches of millions of blocks can be tested on a CPU.
#pragma once

#ifdef LNH_CUDA

#include <cstdint>

/// Does nothing: a GPU runs the whole grid. A test that opens a window must be right either way, so it looks only at
/// what the blocks of its window write.
class LaunchWindow {
public:
  LaunchWindow(std::uint64_t, std::uint64_t) {}
  ~LaunchWindow() {}  // not trivial, so that no compiler calls the window unused
  LaunchWindow(const LaunchWindow&) = delete;
  LaunchWindow& operator=(const LaunchWindow&) = delete;
};

#else

#include <simt/executor.h>

/// While LaunchWindow(first, count) lives, launches from this thread run only the blocks [first, first + count) of
/// their grids, counted with x fastest, then y, then z. Each block still sees the whole grid's gridDim and its own
/// blockIdx.
using simt::LaunchWindow;

#endif
