/// Launches over more rows than a CPU could run, or a test could hold.
#pragma once

#include <host/device_buffer.h>
#include <testing/run.h>

#include <cstdint>
#include <limits>

namespace testing {

/// A buffer that no kernel will touch as a whole. Throws NotTested where this GPU has too little memory for it.
DeviceBuffer<float> large_buffer(const char* name, std::int64_t count);

/// The count of a LaunchWindow that holds every block from its first one on.
inline constexpr std::uint64_t to_the_end = std::numeric_limits<std::uint64_t>::max();

/// What a launch over that many rows gives to the last of them. On the simt backend only their blocks run, of
/// rows_per_block rows each, and memory that they do not touch costs nothing. A GPU runs the whole grid, and in the
/// rows before the last ones x holds what memory held before. Throws as run() does, and NotTested as large_buffer().
NormResult run_last_rows(NormLauncher launcher, std::int64_t rows_per_block, std::int64_t rows, const NormCase& last);

}  // namespace testing
