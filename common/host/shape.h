/// How a block is laid over rows, and the shape that suits rows of a given length. Derived and measured in chapter 05.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

constexpr int most_threads = 1024;  // of a block, on every GPU

struct Shape {
  int threads;  // T, threads a row: a multiple of 32
  int rows;     // R, rows a block: T · R is at most 1024
};

/// The shape for rows of cols columns: 16 elements a thread or fewer, and blocks of 256 threads or more, with the
/// exceptions that chapter 05 measured. T depends on cols alone, so that a row's bits do not depend on its neighbours.
// [shape_for]
constexpr Shape shape_for(std::int64_t cols) {
  if (cols <= 384) return {32, 8};
  if (cols <= 512) return {32, 16};
  if (cols <= 1024) return {64, 4};
  if (cols <= 2048) return {128, 2};
  if (cols <= 4096) return {256, 1};
  if (cols <= 5120) return {320, 1};
  if (cols <= 8192) return {512, 1};
  return {1024, 1};
}
// [/shape_for]

/// Throws std::invalid_argument if no block has this shape.
inline void check(Shape shape) {
  const std::string given = "the shape " + std::to_string(shape.threads) + "×" + std::to_string(shape.rows);
  if (shape.threads < 32 || shape.threads % 32 != 0) {
    throw std::invalid_argument(given + " has " + std::to_string(shape.threads) +
                                " threads a row; it must be a positive multiple of 32, so that every warp is full");
  }
  if (shape.rows < 1 || shape.rows > most_threads / shape.threads) {
    throw std::invalid_argument(given + " has " + std::to_string(shape.rows) +
                                " rows a block; it must have at least 1, and threads · rows at most " +
                                std::to_string(most_threads));
  }
}
