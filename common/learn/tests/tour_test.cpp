/// ./learn tour on the course's kernels: what it promises to programs and to people.
#include "stored_results.h"

#include <doctest/doctest.h>
#include <learn/ladder.h>
#include <learn/marks.h>
#include <learn/process.h>

#include <nlohmann/json.hpp>

using nlohmann::json;

namespace {

constexpr std::uint64_t rows = 32, cols = 4096, elements = rows * cols;

json tour() {
  const learn::Finished finished = learn::run({LNH_LEARN_PROGRAM, "tour", "--json", "--rows", "32", "--cols", "4096"});
  REQUIRE_MESSAGE(finished.exit_code == 0, finished.output);
  return json::parse(finished.output);
}

json stage(const json& tour, const std::string& kernel) {
  for (const json& stage : tour.at("stages")) {
    if (stage.at("kernel") == kernel) return stage;
  }
  FAIL("the tour has no kernel " << kernel);
  return {};
}

/// Characters of a line in UTF-8.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

TEST_CASE("the tour's JSON has every field that is promised, for every kernel") {
  const json result = tour();
  CHECK(result.at("backend") == "simt");
  CHECK(result.at("rows") == rows);
  CHECK(result.at("cols") == cols);
  CHECK(result.at("stages").size() >= 4);
  for (const json& stage : result.at("stages")) {
    CAPTURE(stage.dump());
    for (const char* field : {"chapter", "kernel", "verdict"}) CHECK(stage.at(field).is_string());
    for (const char* field : {"passes_over_x", "load_requests", "request_bytes", "bytes_requested", "bytes_touched",
                              "bytes_minimum", "findings"}) {
      CHECK(stage.at(field).is_number());
    }
    for (const char* field : {"digits", "error_over_bound"}) {
      for (const char* kind : {"centred", "treacherous"}) CHECK(stage.at(field).at(kind).is_number());
    }
    CHECK(stage.at("findings") == 0);
  }
}

TEST_CASE("a copy asks once for each element, and moves the least that is possible") {
  const json result = tour();
  for (const auto& [kernel, lane_bytes] : {std::pair{"copy::scalar", 4}, std::pair{"copy::vectorized", 16}}) {
    const json copy = stage(result, kernel);
    CHECK(copy.at("passes_over_x") == 1.0);
    CHECK(copy.at("request_bytes") == 32.0 * lane_bytes);
    CHECK(copy.at("load_requests") == elements * 4 / (32 * lane_bytes));
    CHECK(copy.at("bytes_requested") == 2 * elements * 4);
    CHECK(copy.at("bytes_touched") == 2 * elements * 4);
    CHECK(copy.at("bytes_minimum") == 2 * elements * 4);
    CHECK(copy.at("digits").at("treacherous") == learn::exact_digits);
    CHECK(copy.at("verdict") == "passes");
  }
}

TEST_CASE("three passes ask three times for x and touch it once") {
  const json result = tour();
  for (const char* kernel : {"three_pass::layer_norm_thread_per_row", "three_pass::layer_norm"}) {
    const json layer_norm = stage(result, kernel);
    CHECK(layer_norm.at("passes_over_x") == 3.0);
    CHECK(layer_norm.at("load_requests") == 5 * elements / 32);  // x three times, gamma and beta once a row
    CHECK(layer_norm.at("request_bytes") == 128.0);
    CHECK(layer_norm.at("bytes_requested") == (6 * elements + 2 * rows) * 4);
    CHECK(layer_norm.at("bytes_touched") == (2 * elements + 2 * cols + 2 * rows) * 4);
    CHECK(layer_norm.at("bytes_minimum") == (2 * elements + 2 * cols + 2 * rows) * 4);
    CHECK(layer_norm.at("error_over_bound").at("treacherous") <= 1.0);
    CHECK(layer_norm.at("verdict") == "passes");
  }
  CHECK(stage(result, "three_pass::layer_norm_thread_per_row").at("request_sectors") == 32.0);
  CHECK(stage(result, "three_pass::layer_norm").at("request_sectors") == 4.0);
}

TEST_CASE("RMSNorm asks for x twice and for gamma once, and its least is without beta and mean") {
  const json result = tour();
  const json rms_norm = stage(result, "rms_norm::rms_norm"), layer_norm = stage(result, "rms_norm::layer_norm");
  CHECK(rms_norm.at("passes_over_x") == 2.0);
  CHECK(rms_norm.at("request_bytes") == 512.0);
  CHECK(rms_norm.at("load_requests") == 3 * elements / 128);
  CHECK(rms_norm.at("bytes_requested") == (4 * elements + rows) * 4);
  CHECK(rms_norm.at("bytes_touched") == (2 * elements + cols + rows) * 4);
  CHECK(rms_norm.at("bytes_minimum") == (2 * elements + cols + rows) * 4);
  CHECK(layer_norm.at("bytes_minimum") == (2 * elements + 2 * cols + 2 * rows) * 4);
  // It is judged against RMSNorm's reference, and on every published row, those that say nothing of LayerNorm as well.
  CHECK(rms_norm.at("error_over_bound").at("treacherous") <= 1.0);
  CHECK(rms_norm.at("digits").at("treacherous") >= 6.5);
  CHECK(rms_norm.at("published").size() > layer_norm.at("published").size());
  CHECK(rms_norm.at("verdict") == "passes");
}

TEST_CASE("of all kernels only those of chapter 02 that cancel fail, and the tour says where") {
  const json result = tour();
  std::vector<std::string> failing;
  for (const json& stage : result.at("stages")) {
    if (stage.at("verdict") == "fails") failing.push_back(stage.at("kernel"));
  }
  CHECK(failing == std::vector<std::string>{"one_pass::layer_norm_thread_per_row", "one_pass::layer_norm"});
  for (const std::string& kernel : failing) {
    CHECK(stage(result, kernel).at("passes_over_x") == 2.0);
    CHECK(stage(result, kernel).at("error_over_bound").at("centred") <= 1.0);
    CHECK(stage(result, kernel).at("error_over_bound").at("treacherous") >= 10.0);
  }
}

TEST_CASE("the ladder says of a kernel that fails on how many rows it does, and that it gave NaN") {
  learn::Rung right, wrong;
  right.kernel = "right";
  wrong.kernel = "wrong";
  right.published = {{"row", 7, 0.5}, {"row", 7, 0.5}, {"row", 7, 0.5}};
  CHECK(learn::ladder_text({right}, 1, 1, false).find("Outside the error bound") == std::string::npos);
  wrong.published = {{"row", 7, 0.5}, {"row", 0, 2}, {"row", 0, std::numeric_limits<double>::infinity()}};
  std::string line = "on 2 of 3 rows of public bug reports, with NaN on 1\n";
  SUBCASE("right on the easy rows") {}
  SUBCASE("wrong on the easy rows") {
    wrong.centred.error_over_bound = 2;
    line = "on the easy rows, and " + line;
  }
  const std::string text = learn::ladder_text({right, wrong}, 1, 1, false);
  CHECK_MESSAGE(text.find(line) != std::string::npos, text);
  CHECK(text.find("\n  right  ") == text.rfind("\n  right  "));  // in the table alone
}

TEST_CASE("the ladder fits a terminal of 100 columns") {
  const learn::Finished finished = learn::run({LNH_LEARN_PROGRAM, "tour", "--rows", "8", "-v"});
  CHECK(finished.exit_code == 0);
  for (const std::string& line : learn::lines_of(finished.output)) {
    if (!line.starts_with("Next:")) CHECK_MESSAGE(columns(line) <= 100, line);
  }
}

TEST_CASE("an error beyond its bound, a NaN or a finding makes the verdict") {
  learn::Rung rung;
  rung.centred = rung.treacherous = {"row", 7, 0.5};
  CHECK(rung.passes());
  SUBCASE("error") { rung.treacherous.error_over_bound = 1.01; }
  SUBCASE("infinite: a NaN was met") { rung.centred.error_over_bound = std::numeric_limits<double>::infinity(); }
  SUBCASE("error on a published row") { rung.published = {{"row", 7, 0.5}, {"row", 0, 2}}; }
  SUBCASE("finding") { rung.findings = {"memory: write outside of buffer 'y'"}; }
  CHECK_FALSE(rung.passes());
}

TEST_CASE("speeds come from stored measurements, by the kernel's name: cold L2, 4096 columns, the largest size") {
  learn::Rung scalar, vectorized, norm;
  scalar.kernel = "copy::scalar";
  vectorized.kernel = "copy::vectorized";
  norm.kernel = "n::norm";
  std::vector<learn::Rung> ladder{scalar, vectorized, norm};
  CHECK(learn::speed_text(ladder, "") == "");
  const learn::Measurements results = learn::measurements(
      stored({timed("copy::vectorized/count:268435456/cold_L2", 1, 0.98),
              timed("copy::vectorized/count:4096/cold_L2", 1, 0.5),
              R"({"name": "copy::scalar/count:268435456/cold_L2", "error_occurred": true, "error_message": "wrong"})",
              timed("n::norm/rows:128/cols:4096/cold_L2", 1, 0.2), timed("n::norm/rows:4096/cols:4096/cold_L2", 1, 0.8),
              timed("n::norm/rows:8/cols:4096/cold_L2", 1, 0.1), timed("n::norm/rows:8192/cols:4096/warm_L2", 1, 0.9),
              timed("n::norm/rows:4096/cols:8192/cold_L2", 1, 0.7)}),
      "a.json");
  learn::add_speeds(ladder, results);
  CHECK(results.card == "Card 7");
  CHECK_FALSE(ladder[0].gpu);
  REQUIRE(ladder[1].gpu);
  CHECK(ladder[1].gpu->gigabytes_per_second == doctest::Approx(3920));  // 4000 · 0.98
  CHECK(ladder[1].gpu->fraction_of_copy == 0.98);
  REQUIRE(ladder[2].gpu);
  CHECK(ladder[2].gpu->fraction_of_copy == 0.8);
  CHECK(learn::speed_text(ladder, results.card).find("copy::vectorized") != std::string::npos);
  CHECK(learn::speed_text(ladder, results.card).find("copy::scalar") == std::string::npos);
}
