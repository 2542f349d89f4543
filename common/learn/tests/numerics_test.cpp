// ./learn numerics on the course's kernels: what it promises to programs and to people.
#include <doctest/doctest.h>
#include <learn/files.h>
#include <learn/marks.h>
#include <learn/nist.h>
#include <learn/plot.h>
#include <learn/process.h>
#include <testing/strd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace {

learn::Finished run_numerics(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {LNH_LEARN_PROGRAM, "numerics"});
  return learn::run(arguments);
}

std::string output(const std::vector<std::string>& arguments) {
  const learn::Finished finished = run_numerics(arguments);
  REQUIRE_MESSAGE(finished.exit_code == 0, finished.output);
  return finished.output;
}

/// Characters of a line in UTF-8.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> result;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string::npos; at = line.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    result.push_back(line.substr(at, end - at));
    at = end;
  }
  return result;
}

/// The words behind a line's label.
std::vector<std::string> values(const std::string& text, const std::string& label) {
  for (const std::string& line : learn::lines_of(text)) {
    if (line.starts_with("  " + label)) return words(line.substr(2 + label.size()));
  }
  FAIL("the output has no line '" << label << "'");
  return {};
}

}  // namespace

TEST_CASE("the tables fit a terminal of 100 columns") {
  for (const char* part : {"example", "kappa", "nist", "train"}) {
    for (const std::string& line : learn::lines_of(output({part}))) CHECK_MESSAGE(columns(line) <= 100, line);
  }
}

TEST_CASE("the example shows the wrong variances with the rstd that LayerNorm would go on with") {
  const std::string text = output({"example"});
  const auto line = [&](const char* label) { return values(text, label); };
  using Words = std::vector<std::string>;
  // 1/√(0.25 + 1e-5), 1/√(1e-5), and the root of a negative number
  CHECK(line("first element to last") == Words{"0.25", "2.0", "0.2578", "2.0"});
  CHECK(line("last element to first") == Words{"0", "316.2", "0.01364", "8.6"});
  const Words far_first = line("32 lanes, distances 16, 8, 4, 2, 1");
  CHECK(far_first.at(0) == "-0.125");
  CHECK(far_first.at(1) == "NaN");
  CHECK(far_first.at(3) == "NaN");
  CHECK(line("32 lanes, distances 1, 2, 4, 8, 16") == line("last element to first"));  // all distances grow
  CHECK(line("the ten floats").at(2) == "234.1");                                      // 1/√(8.2481e-6 + 1e-5)
  CHECK(text.find("1000.0054992676   8.2481279969e-06") != std::string::npos);
}

TEST_CASE("the data hold each method's error, bound and their ratio for every κ") {
  const json data = json::parse(output({"kappa", "--json"}));
  REQUIRE(data.at("experiments").size() == 2);
  for (const json& experiment : data.at("experiments")) {
    for (const char* field : {"n", "lanes", "rows"}) CHECK(experiment.at(field).is_number_integer());
    CHECK(experiment.at("methods").size() >= 10);
    for (const json& method : experiment.at("methods")) {
      CHECK(method.at("method").is_string());
      CHECK(method.at("bound").is_string());
      REQUIRE(method.at("points").size() == 11);
      double last = 0;
      for (const json& point : method.at("points")) {
        CHECK(point.at("kappa").get<double>() > last);
        last = point.at("kappa");
        for (const char* field : {"error", "bound", "error_over_bound"}) CHECK(point.at(field).get<double>() > 0);
      }
    }
  }
}

// Whatever the compiler: learn_sync_check, which compares all that is generated, is for g++ alone.
TEST_CASE("the stored data and plots are what this build computes") {
  const std::filesystem::path docs = std::filesystem::path(LNH_SOURCE_DIR) / "docs";
  CHECK(learn::read_text(docs / "numerics/kappa.json") == output({"kappa", "--json"}));
  const std::vector<numerics::Experiment> experiments = numerics::experiments();
  CHECK(learn::read_text(docs / "figures/numerics_kappa.svg") == learn::errors_plot(experiments.back()));
  CHECK(learn::read_text(docs / "figures/numerics_bounds.svg") == learn::bounds_plot(experiments));
}

TEST_CASE("a plot shows every method that it should, for light and for dark") {
  const std::vector<numerics::Experiment> experiments = numerics::experiments();
  const std::string errors = learn::errors_plot(experiments.back()), bounds = learn::bounds_plot(experiments);
  for (const std::string& plot : {errors, bounds}) {
    CHECK(plot.starts_with("<svg "));
    CHECK(plot.find("prefers-color-scheme: dark") != std::string::npos);
    CHECK(plot.find("nan") == std::string::npos);
  }
  std::size_t dots = 0;
  for (std::size_t at = bounds.find("<circle"); at != std::string::npos; at = bounds.find("<circle", at + 1)) ++dots;
  CHECK(dots == 2 * 11 * numerics::methods().size());
  CHECK(errors.find("Kahan's sums</text>") != std::string::npos);
}

TEST_CASE("a training's data are its curve, and the loss falls in them") {
  const json curve = json::parse(output({"train", "--json"}));
  const json& points = curve.at("points");
  REQUIRE(points.size() == 300 / 5 + 1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].at("step") == 5 * i);
    CHECK(points[i].at("difference") <= curve.at("tolerance"));
  }
  for (const char* precision : {"float", "double"}) {
    CHECK(points.back().at(precision).get<double>() <= points.front().at(precision).get<double>() / 500);
  }
}

TEST_CASE("a training's plot shows each point of float, and stays inside its frame whatever the loss") {
  const std::string plot = learn::training_plot(
      {.points = {{0, 5, 5, 0}, {5, 1e-30, 1e-30, 1e-12}, {10, 1e30, 1e30, 1}}, .tolerance = 1e-4});
  CHECK(plot.starts_with("<svg "));
  CHECK(plot.find("prefers-color-scheme: dark") != std::string::npos);
  CHECK(plot.find("nan") == std::string::npos);
  CHECK(plot.find("inf") == std::string::npos);
  std::vector<double> heights;
  for (std::size_t at = plot.find("cy=\""); at != std::string::npos; at = plot.find("cy=\"", at + 1))
    heights.push_back(std::stod(plot.substr(at + 4)));
  REQUIRE(heights.size() == 3);
  CHECK(heights[1] == 64 + 400);  // the frame's lower edge
  CHECK(heights[2] == 64);        // the upper one
  CHECK(heights[0] > 64);
  CHECK(heights[0] < 64 + 400);
}

TEST_CASE("digits are counted from the relative error") {
  CHECK(*learn::digits(1.001, 1) == doctest::Approx(3));
  CHECK(*learn::digits(999, 1000) == doctest::Approx(3));
  CHECK(*learn::digits(5, 5) == learn::digits_of_float);
  CHECK(*learn::digits(1 + 1e-9, 1) == learn::digits_of_float);
  CHECK(*learn::digits(20, 1) == 0);
  CHECK(*learn::digits(0.5, 0) == 0);
  CHECK(*learn::digits(0, 0) == learn::digits_of_float);
  CHECK_FALSE(learn::digits(std::nan(""), 1).has_value());
}

TEST_CASE("on NIST's data every kernel but the cancelling ones keeps the digits that its bound promises") {
  const std::string text = output({"nist"});
  const std::vector<testing::StrdSet> sets = testing::strd_sets();
  std::string chapter;
  int judged = 0;
  bool variance = false;
  for (const std::string& line : learn::lines_of(text)) {
    if (line.starts_with("digits of the variance")) variance = true;
    if (line.size() > 3 && line[2] == '_') chapter = line;
    if (!line.starts_with("  layer_norm")) continue;
    CAPTURE(chapter + line);
    const std::vector<std::string> cells = words(line);
    REQUIRE(cells.size() == 1 + sets.size());
    if (chapter == "02_one_pass") continue;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const double n = static_cast<double>(sets[i].values.size()), mean = sets[i].binary32_mean;
      if (sets[i].binary32_variance == 0) continue;  // two passes need not find a mean that is exactly the value
      // One thread, the longest chain that a kernel has: D = n. Two passes and Welford are both within n·κ·u as long as
      // that is below 1, and the mean within n·u of the mean of |x|, which is at most √(mean² + variance). The root,
      // its reciprocal and the divisions round a few times more.
      const double spread = std::sqrt(sets[i].binary32_variance);
      const double growth = std::hypot(mean, spread) / (variance ? spread : std::abs(mean));
      const double bound = (n * growth + 8) * 0x1p-24;
      if (bound > 0.1) continue;
      CAPTURE(sets[i].name);
      ++judged;
      CHECK(std::stod(cells[1 + i]) >= -std::log10(bound) - 0.05);  // the table has one decimal
    }
  }
  CHECK(judged >= 2 * 2 * 6);
}

TEST_CASE("what cannot be meant is refused with a sentence") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"cappa"}, {"kappa", "--bounds"}, {"kappa", "--json", "--svg", "a.svg"}}) {
    const learn::Finished finished = run_numerics(arguments);
    CHECK(finished.exit_code == 2);
    CHECK(finished.output.find("--help") != std::string::npos);
  }
  const std::string four = "./learn numerics shows one of four things: ./learn numerics example, kappa, nist or train";
  CHECK(run_numerics({}).output.starts_with(four + ". "));
  CHECK(run_numerics({"cappa"}).output.starts_with(four + "; 'cappa' is none of them. "));
  for (const std::string unexpected : {"more", "--fast"}) {
    const learn::Finished finished = run_numerics({"kappa", unexpected});
    CHECK(finished.exit_code == 2);
    CHECK(finished.output.starts_with("'" + unexpected + "' means nothing behind ./learn numerics kappa; "));
  }
  CHECK(run_numerics({"kappa", "--svg", "/nonexistent/a.svg"}).output ==
        "There is no folder /nonexistent for the picture a.svg: create it first, or correct --svg.\n");
  CHECK(run_numerics({"kappa", "--help"}).output.starts_with("usage: ./learn numerics"));
}
