/// CUDA's index types.
#pragma once

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// NOLINTEND(readability-identifier-naming)
