// How the sums of a backward are divided into slabs of rows.
#include <host/norm_backward.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

TEST_CASE("every row is in exactly one slab, and no slab is empty or too long") {
  for (const std::int64_t cols : {1, 5, 512, 513, 4096, 16384, 2097152, 2097153}) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 1000, 4097, 16384, 16385, 100003}) {
      CAPTURE(rows);
      CAPTURE(cols);
      const Slabs slabs = slabs_for(rows, cols);
      std::vector<int> met(static_cast<std::size_t>(rows));
      for (std::int64_t slab = 0; slab < slabs.slabs; ++slab) {
        std::int64_t rows_of_slab = 0;
        for (std::int64_t row = slab; row < rows; row += slabs.slabs) {
          ++met[static_cast<std::size_t>(row)];
          ++rows_of_slab;
        }
        REQUIRE(rows_of_slab >= 1);
        REQUIRE(rows_of_slab <= slabs.rows_per_slab);
      }
      CHECK(std::all_of(met.begin(), met.end(), [](int times) { return times == 1; }));
    }
  }
}

TEST_CASE("there are at most as many slabs as warps for 512 columns each, and a quarter as many as rows") {
  for (const std::int64_t cols : {1, 512, 513, 1024, 4096, 16384, 2097152, 2097153, 16777216}) {
    const std::int64_t most = std::max<std::int64_t>(1, 4096 / ((cols + 511) / 512));
    for (const std::int64_t rows : {1, 3, 4, 5, 1000, 16384, 16385, 100003, 1 << 30}) {
      CAPTURE(rows);
      CAPTURE(cols);
      const Slabs slabs = slabs_for(rows, cols);
      CHECK(slabs.slabs >= 1);
      CHECK(slabs.slabs <= most);
      CHECK(slabs.slabs <= (rows + 3) / 4);
      CHECK(slabs.rows_per_slab >= 4);
      CHECK(workspace_floats(rows, cols) == 2 * cols * slabs.slabs + (cols > 16384 ? 2 * rows : 0));
    }
  }
}

TEST_CASE("slabs by hand") {
  const auto same = [](Slabs slabs, std::int64_t count, std::int64_t rows) {
    return slabs.slabs == count && slabs.rows_per_slab == rows;
  };
  CHECK(same(slabs_for(3, 8), 1, 4));
  CHECK(same(slabs_for(4, 8), 1, 4));
  CHECK(same(slabs_for(5, 8), 2, 4));
  CHECK(same(slabs_for(16384, 512), 4096, 4));
  CHECK(same(slabs_for(16385, 512), 3277, 5));
  CHECK(same(slabs_for(8192, 16384), 128, 64));
  CHECK(same(slabs_for(8192, 4 << 20), 1, 8192));
  CHECK(workspace_floats(8192, 16384) == 2 * 16384 * 128);
  CHECK(workspace_floats(8192, 16385) == 2 * 16385 * 123 + 2 * 8192);
  CHECK(workspace_floats(0, 8) == 0);
}

TEST_CASE("RMSNorm's arguments are LayerNorm's without mean and dbeta, and back") {
  float memory[9];
  const LayerNormBackwardArgs all{.x = memory,
                                  .gamma = memory + 1,
                                  .mean = memory + 2,
                                  .rstd = memory + 3,
                                  .dy = memory + 4,
                                  .dx = memory + 5,
                                  .dgamma = memory + 6,
                                  .dbeta = memory + 7,
                                  .workspace = memory + 8,
                                  .rows = 3,
                                  .cols = 4,
                                  .accumulate = true};
  const LayerNormBackwardArgs back = layer_norm_backward_args(rms_norm_backward_args(all));
  CHECK(back.x == all.x);
  CHECK(back.gamma == all.gamma);
  CHECK(back.mean == nullptr);
  CHECK(back.rstd == all.rstd);
  CHECK(back.dy == all.dy);
  CHECK(back.dx == all.dx);
  CHECK(back.dgamma == all.dgamma);
  CHECK(back.dbeta == nullptr);
  CHECK(back.workspace == all.workspace);
  CHECK(back.rows == all.rows);
  CHECK(back.cols == all.cols);
  CHECK(back.accumulate == all.accumulate);
}
