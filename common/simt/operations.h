/// What a kernel asks the executor to do, and where in the source it asks.
#pragma once

#include <cstdint>

namespace simt {

struct Site {
  const char* file = nullptr;
  int line = 0;
};

enum class Collective : std::uint8_t {
  shuffle_xor,
  shuffle_down,
  shuffle_up,
  shuffle_index,
  ballot,
  any,
  all,
  warp_barrier
};

enum class Atomic : std::uint8_t { add, exchange, minimum, maximum, bit_and, bit_or, compare_exchange };

}  // namespace simt
