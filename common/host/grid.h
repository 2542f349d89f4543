/// How many blocks a launch needs.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

/// ⌈items / per_block⌉ blocks, for gridDim.x. Throws std::invalid_argument above 2³¹ − 1, the most that CUDA allows:
/// passed on as it is, a larger number would lose its upper bits and launch too few blocks without a word.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block) {
  const std::int64_t blocks = (items + per_block - 1) / per_block;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument(
        "this launch needs " + std::to_string(blocks) +
        " blocks, but gridDim.x takes at most 2147483647; split the work into smaller launches");
  }
  return static_cast<unsigned>(blocks);
}
