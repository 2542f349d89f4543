/// The table of a stored measurement.
#include <doctest/doctest.h>
#include <learn/results.h>

#include <stdexcept>
#include <string>

namespace {

std::string stored(const std::string& backend) {
  return R"({
    "context": {"backend": ")" +
         backend + R"(", "card": "Card 7", "commit": "abc123", "date": "2031-02-03T04:05:06+00:00",
                "driver": "1.2, up to CUDA 9.9", "toolkit": "CUDA 9.8"},
    "benchmarks": [
      {"name": "copy::wide/count:2097152/warm_L2/iterations:20/manual_time", "median_ms": 0.00425, "GB/s": 3918.4, "of_copy": 0.966},
      {"name": "n::norm/rows:65536/cols:4096/cold_L2/iterations:20/manual_time", "median_ms": 0.5888, "GB/s": 3648.2, "of_copy": 0.8526},
      {"name": "n::slow/rows:512/cols:4096/warm_L2/iterations:20/manual_time", "median_ms": 2.6233, "GB/s": 6.4, "of_copy": 0.00187}
    ]})";
}

}  // namespace

TEST_CASE("results: a line for each benchmark, and the machine below") {
  CHECK(learn::results_table(stored("cuda")) ==
        "| kernel | size | L2 | median ms | GB/s | of a copy |\n"
        "|---|---|---|---|---|---|\n"
        "| `copy::wide` | 2 097 152 | warm | 0.0043 | 3918 | 0.97 |\n"
        "| `n::norm` | 65 536 × 4 096 | cold | 0.5888 | 3648 | 0.85 |\n"
        "| `n::slow` | 512 × 4 096 | warm | 2.6233 | 6 | 0.0019 |\n"
        "\n"
        "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123.\n");
}

TEST_CASE("fractions: kernels × columns, cold, the largest of a column in bold, files one below the other") {
  const auto file = [](const std::string& date, const std::string& benchmarks) {
    return R"({"context": {"backend": "cuda", "card": "Card 7", "commit": "abc123", "date": ")" + date +
           R"(T04:05:06+00:00", "driver": "1.2, up to CUDA 9.9", "toolkit": "CUDA 9.8"}, "benchmarks": [)" +
           benchmarks + "]}";
  };
  const std::string two = file("2031-02-03", R"(
      {"name": "shape 32×1/rows:16/cols:4096/cold_L2/iterations:20/manual_time", "of_copy": 0.5},
      {"name": "shape 32×1/rows:256/cols:256/cold_L2/iterations:20/manual_time", "of_copy": 0.801},
      {"name": "shape 32×1/rows:512/cols:4096/warm_L2/iterations:20/manual_time", "of_copy": 9},
      {"name": "shape 64×1/rows:16/cols:4096/cold_L2/iterations:20/manual_time", "of_copy": 0.75},
      {"name": "shape 64×1/rows:256/cols:256/cold_L2/iterations:20/manual_time", "of_copy": 0.798})");
  const std::string another = file("2031-02-04", R"(
      {"name": "n::norm/rows:16/cols:4096/cold_L2/iterations:20/manual_time", "of_copy": 0.0187},
      {"name": "copy::wide/count:2097152/cold_L2/iterations:20/manual_time", "of_copy": 1})");
  CHECK(learn::fractions_table({two, another}) ==
        "| kernel | 256 | 4 096 |\n"
        "|---|---|---|\n"
        "| `shape 32×1` | **0.80** | 0.50 |\n"
        "| `shape 64×1` | **0.80** | **0.75** |\n"
        "| `n::norm` |  | 0.019 |\n"
        "\n"
        "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123.\n"
        "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-04, commit abc123.\n");
  // The ladder: the course's kernels alone.
  CHECK(learn::ladder_table({two, another}) ==
        "| kernel | 4 096 |\n"
        "|---|---|\n"
        "| `n::norm` | **0.019** |\n"
        "\n"
        "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123.\n"
        "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-04, commit abc123.\n");
  CHECK_THROWS_WITH_AS(learn::fractions_table({file("2031-02-03", "")}), doctest::Contains("hold no kernel"),
                       std::runtime_error);
  CHECK_THROWS_AS(learn::fractions_table({stored("simt")}), std::runtime_error);
}

TEST_CASE("results: counts of the executor are no measurement") {
  CHECK_THROWS_WITH_AS(learn::results_table(stored("simt")), doctest::Contains("needs a run on a GPU"),
                       std::runtime_error);
}

TEST_CASE("results: what is no JSON of a benchmark is refused") {
  CHECK_THROWS(learn::results_table("{}"));
  CHECK_THROWS(learn::results_table("no JSON"));
}

TEST_CASE("results: what has failed has no time, and leaves its cell empty") {
  // As benchmark/peers.py writes them: a peer that was wrong on one size, one that refused its only one.
  const std::string peers = R"({
    "context": {"backend": "cuda", "card": "Card 7", "commit": "abc123", "date": "2031-02-03T04:05:06+00:00",
                "driver": "1.2", "toolkit": "CUDA 9.8, PyTorch 7.6 with CUDA 9.7"},
    "benchmarks": [
      {"name": "n::norm/rows:16/cols:256/cold_L2", "median_ms": 1, "GB/s": 2, "of_copy": 0.75},
      {"name": "n::norm/rows:4/cols:1024/cold_L2", "median_ms": 1, "GB/s": 2, "of_copy": 0.5},
      {"name": "Peer: rms_norm backward/rows:16/cols:256/cold_L2", "error_occurred": true, "error_message": "wrong: y"},
      {"name": "Peer: rms_norm backward/rows:4/cols:1024/cold_L2", "median_ms": 1, "GB/s": 2, "of_copy": 0.625},
      {"name": "Other: rms_norm/rows:4/cols:1024/cold_L2", "error_occurred": true, "error_message": "refused: no"}
    ]})";
  const std::string machine =
      "\nMeasured on one Card 7, driver 1.2, CUDA 9.8, PyTorch 7.6 with CUDA 9.7, 2031-02-03, commit abc123.\n";
  CHECK(learn::fractions_table({peers}) == "| kernel | 256 | 1 024 |\n"
                                           "|---|---|---|\n"
                                           "| `n::norm` | **0.75** | 0.50 |\n"
                                           "| `Peer: rms_norm backward` |  | **0.62** |\n" +
                                               machine);
  CHECK(learn::results_table(peers) == "| kernel | size | L2 | median ms | GB/s | of a copy |\n"
                                       "|---|---|---|---|---|---|\n"
                                       "| `n::norm` | 16 × 256 | cold | 1.0000 | 2 | 0.75 |\n"
                                       "| `n::norm` | 4 × 1 024 | cold | 1.0000 | 2 | 0.50 |\n"
                                       "| `Peer: rms_norm backward` | 4 × 1 024 | cold | 1.0000 | 2 | 0.62 |\n" +
                                           machine);
}
