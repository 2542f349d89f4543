#include <benchmark/byte_model.h>

#include <doctest/doctest.h>

using benchmarking::least_bytes;

namespace {

// Only whether a pointer is null matters to the byte model.
float* const given = reinterpret_cast<float*>(256);

}  // namespace

TEST_CASE("a copy reads and writes each of its elements once") {
  CHECK(least_bytes(CopyArgs{.x = given, .y = given, .count = 1000}) == 8000);
  CHECK(least_bytes(CopyArgs{.count = 0}) == 0);
}

TEST_CASE("a copy of more than 2³¹ elements has a byte count beyond 32 bits") {
  CHECK(least_bytes(CopyArgs{.x = given, .y = given, .count = std::int64_t{3} << 31}) == std::int64_t{24} << 31);
}

TEST_CASE("LayerNorm reads x, gamma and beta once, and writes y, mean and rstd once") {
  LayerNormArgs args{.x = given, .y = given, .rows = 10, .cols = 100};
  CHECK(least_bytes(args) == 8000);  // 2 · 4 · 10 · 100

  args.gamma = given;
  CHECK(least_bytes(args) == 8400);
  args.beta = given;
  CHECK(least_bytes(args) == 8800);  // + 2 · 4 · 100

  args.mean = given;
  CHECK(least_bytes(args) == 8840);
  args.rstd = given;
  CHECK(least_bytes(args) == 8880);  // + 8 · 10
}

TEST_CASE("RMSNorm reads x and gamma once, and writes y and rstd once") {
  RmsNormArgs args{.x = given, .y = given, .rows = 10, .cols = 100};
  CHECK(least_bytes(args) == 8000);  // 2 · 4 · 10 · 100
  args.gamma = given;
  CHECK(least_bytes(args) == 8400);  // + 4 · 100
  args.rstd = given;
  CHECK(least_bytes(args) == 8440);  // + 4 · 10
}

TEST_CASE("a batch without rows moves nothing") {
  CHECK(least_bytes(LayerNormArgs{.x = given, .y = given, .rows = 0, .cols = 100}) == 0);
}
