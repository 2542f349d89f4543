/// Profiles: of each kernel its largest launch, counted by source line.
///
/// A program that runs with the environment variable SIMT_PROFILE=FILE keeps FILE up to date: for each kernel that it
/// launches, the launch that asked for the most bytes. A finding, a failed test or a crash does not lose what was
/// written.
///
///   SIMT_PROFILE=profile.tsv build/simt/chapters/01_1_exercise
///
/// The file holds one record a line, its fields separated by tabs. The records of a kernel follow its own.
///
///   kernel  name  blocks  barriers  warp_barriers  shuffles
///   buffer  name  bytes touched by loads  bytes touched by stores  counts of loads  counts of stores
///   line    file  line  buffer  global|shared  load|store  bytes a lane  lane distance  counts
///
/// Counts are the eight numbers of AccessCounts in their order. A lane distance is in bytes, or one of the words none
/// and several.
#pragma once

#include <simt/counts.h>

#include <cstdint>
#include <string>
#include <vector>

namespace simt {

/// The accesses of one kind that a source line makes to one buffer.
struct LineCounts {
  std::string file;  // relative to the source folder; "?" if the program has no debug information
  int line = 0;
  std::string buffer;  // "shared" for shared memory
  bool shared = false;
  bool store = false;
  unsigned lane_bytes = 0;
  LaneDistance distance;
  AccessCounts counts;
};

/// One launch of a kernel.
struct KernelProfile {
  std::string kernel;
  std::uint64_t blocks = 0, barriers = 0, warp_barriers = 0, shuffles = 0;
  std::vector<BufferCounts> buffers;  // by name
  std::vector<LineCounts> lines;      // by file and line

  std::uint64_t bytes_requested() const;  // global and shared
};

/// The instructions of a launch put together by source line.
KernelProfile profile_of(const LaunchCounts& launch);

/// While it lives, each launch from this thread is profiled.
class ProfileScope {
public:
  ProfileScope();
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

  /// Of each kernel the launch that asked for the most bytes, in the order of the kernels' first launches.
  const std::vector<KernelProfile>& kernels() const { return kernels_; }

private:
  friend void profile(const LaunchCounts& launch);
  std::vector<KernelProfile> kernels_;
  ProfileScope* outer_;
};

/// Whether a ProfileScope of this thread is open or SIMT_PROFILE is set.
bool profiling();
/// Hands the counts of one launch to every open ProfileScope of this thread and to the file of SIMT_PROFILE. Throws
/// std::runtime_error if that file cannot be written.
void profile(const LaunchCounts& launch);

/// The text of a profile file, and back again. Reading throws std::runtime_error for a text that is no profile.
std::string profile_text(const std::vector<KernelProfile>& kernels);
std::vector<KernelProfile> read_profile(const std::string& text);

}  // namespace simt
