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

TEST_CASE("a backward reads x, dy, gamma, mean and rstd once, and writes dx, dgamma and dbeta once") {
  LayerNormBackwardArgs args;
  args.x = args.dy = args.gamma = args.mean = args.rstd = given;
  args.rows = 10;
  args.cols = 100;
  args.dx = args.dgamma = args.dbeta = given;
  CHECK(least_bytes(args) == 13280);  // 4 · (3 · 10 · 100 + 3 · 100 + 2 · 10)
  args.workspace = given;
  CHECK(least_bytes(args) == 13280);  // what a kernel keeps there is its own affair
  args.gamma = nullptr;
  CHECK(least_bytes(args) == 12880);  // − 4 · 100
}

TEST_CASE("a backward does not read what the gradients that are wanted do not depend on") {
  LayerNormBackwardArgs args;
  args.x = args.dy = args.gamma = args.mean = args.rstd = given;
  args.rows = 10;
  args.cols = 100;
  SUBCASE("dx alone") {
    args.dx = given;
    CHECK(least_bytes(args) == 12480);  // 4 · (3 · 10 · 100 + 100 + 2 · 10)
  }
  SUBCASE("dgamma and dbeta: no gamma") {
    args.dgamma = args.dbeta = given;
    CHECK(least_bytes(args) == 8880);  // 4 · (2 · 10 · 100 + 2 · 100 + 2 · 10)
    args.accumulate = true;
    CHECK(least_bytes(args) == 9680);  // + 4 · 2 · 100, what was there
  }
  SUBCASE("dbeta: dy alone") {
    args.dbeta = given;
    CHECK(least_bytes(args) == 4400);  // 4 · (10 · 100 + 100)
  }
  SUBCASE("nothing") { CHECK(least_bytes(args) == 0); }
}

TEST_CASE("RMSNorm's backward is without mean and without dbeta") {
  RmsNormBackwardArgs args;
  args.x = args.dy = args.gamma = args.rstd = given;
  args.dx = args.dgamma = given;
  args.rows = 10;
  args.cols = 100;
  CHECK(least_bytes(args) == 12840);  // 4 · (3 · 10 · 100 + 2 · 100 + 10)
}

TEST_CASE("a backward of more than 2³¹ elements has a byte count beyond 32 bits") {
  LayerNormBackwardArgs args;
  args.x = args.dy = args.mean = args.rstd = given;
  args.dx = given;
  args.rows = std::int64_t{1} << 22;
  args.cols = 1024;
  CHECK(least_bytes(args) == 12 * (std::int64_t{1} << 32) + 8 * (std::int64_t{1} << 22));
}

TEST_CASE("a batch without rows moves nothing") {
  CHECK(least_bytes(LayerNormArgs{.x = given, .y = given, .rows = 0, .cols = 100}) == 0);
}
