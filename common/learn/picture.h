/// Pictures of what one block did: a warp's requests, lanes against addresses, and the block's way from barrier to
/// barrier.
#pragma once

#include <simt/trace.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace learn {

/// 32 neighbouring bytes of global memory, the least that a GPU fetches.
struct Sector {
  static constexpr int bytes = 32;
  std::int64_t offset;          // of its first byte from the buffer's; negative where the buffer begins inside it
  std::array<int, bytes> lane;  // the first lane that asks for each byte, or −1
};
/// The sectors that a request for global memory covers, by address.
std::vector<Sector> sectors(const simt::TracedRequest& request);

/// Four bytes of shared memory. Those of one bank are served one after the other.
struct Word {
  static constexpr int bytes = 4, banks = 32;
  std::int64_t offset;  // from the begin of the variable
  int bank;             // counted as if the variable began at bank 0
  int lane;             // the first lane that asks for it
};
/// The different words that a request for shared memory covers, by address.
std::vector<Word> words(const simt::TracedRequest& request);

/// An SVG file with a section for each trace: the requests of this warp that the trace kept, each with its source line,
/// and the timeline of the block, where it has barriers. The files of the source lines are read from root. Throws
/// UsageError if a block has no such warp.
std::string picture(const std::vector<simt::BlockTrace>& traces, unsigned warp, const std::filesystem::path& root);

}  // namespace learn
