/// The barriers in a kernel's source text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace barrier_deletion {

/// A call of __syncthreads() or __syncwarp(…). Calls that give a value, as __syncthreads_count, are none: without their
/// value the kernel would be another one.
struct Barrier {
  std::string text;  // "__syncwarp(mask)"
  std::size_t begin, end;
  int line;
};

/// In the order of the text. Comments, strings and characters hold no barriers.
std::vector<Barrier> barriers_in(const std::string& source);

/// The text with ((void)0) in the place of the barrier, so that it still compiles and no line moves.
std::string without(const std::string& source, const Barrier& barrier);

}  // namespace barrier_deletion
