/// ./learn chart: which measurements a chart shows, where its points lie, and what stands beside them.
#include "error_of.h"
#include "stored_results.h"

#include <doctest/doctest.h>
#include <learn/chart.h>
#include <learn/marks.h>
#include <learn/text.h>

#include <cmath>
#include <regex>
#include <set>

namespace {

/// Name and size as in a file: kernel/rows:R/cols:C/cold_L2.
std::string cold(const std::string& kernel, int rows, int cols) {
  return fmt::format("{}/rows:{}/cols:{}/cold_L2", kernel, rows, cols);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++times;
  return times;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What a group of the expression finds, in its order.
std::vector<std::string> all(const std::string& text, const std::string& expression) {
  const std::regex pattern(expression);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    found.push_back((*match)[1]);
  return found;
}

const char* const labels = R"re(<text class="label" x="[^"]*" y="([^"]*)")re";
// A marker that stands for a measurement lies in the frame, up to x = 544; the one of a label stands right of it.
constexpr double frame_right = 544;

/// The markers of measurements.
std::size_t markers(const std::string& svg, const std::string& kind) {
  std::size_t number = 0;
  for (const std::string& x : all(svg, R"re(class="c\d )re" + kind + R"re(" d="M([0-9.]*) )re")) {
    number += std::stod(x) <= frame_right ? 1 : 0;
  }
  return number;
}

/// Every kernel of the course with a name as long as its own, peers beside them, on the whole grid.
void write_full_grid(const ResultsFolder& folder) {
  static const int cols_of_grid[] = {128,  256,  512,   768,   1024,  2048,  4096,
                                     5120, 8192, 12288, 16384, 32768, 65536, 131072};
  const auto points = [](const std::string& kernel, double of_copy) {
    std::vector<std::string> list;
    for (const int cols : cols_of_grid) {
      for (const int size : {1 << 28, 1 << 24}) list.push_back(timed(cold(kernel, size / cols, cols), 1.5, of_copy));
    }
    for (const int cols : {4096, 8192}) {
      for (const int rows : {1, 8, 32, 128}) list.push_back(timed(cold(kernel, rows, cols), 0.005 / of_copy, of_copy));
    }
    return list;
  };
  const auto write = [&](const std::string& file, const std::vector<std::string>& kernels) {
    std::vector<std::string> list;
    double of_copy = 0.8;
    for (const std::string& kernel : kernels) {
      for (const std::string& point : points(kernel, of_copy)) list.push_back(point);
      of_copy += 0.001;
    }
    folder.write(file, stored(list));
  };
  folder.write("00_roofline_benchmark.json", stored({timed("copy::vectorized/count:268435456/cold_L2", 0.5, 1.01),
                                                     timed("copy::vectorized/count:16777216/cold_L2", 0.03, 0.9)}));
  write("01_three_pass_benchmark.json", {"three_pass::layer_norm_thread_per_row", "three_pass::layer_norm"});
  write("02_one_pass_benchmark.json", {"one_pass::layer_norm", "one_pass::layer_norm_shifted"});
  write("03_welford_benchmark.json", {"welford::layer_norm"});
  write("04_warp_block_welford_benchmark.json", {"warp_block_welford::layer_norm"});
  write("05_fused_layer_norm_benchmark.json",
        {"shape 32×1", "shape 32×8", "shape 32×16", "shape 64×1", "shape 64×4", "shape 128×1", "shape 128×2",
         "shape 256×1", "shape 512×1", "shape 1024×1", "fused_layer_norm::layer_norm"});
  write("06_rms_norm_benchmark.json", {"rms_norm::rms_norm", "rms_norm::layer_norm"});
  write("07_backward_benchmark.json", {"backward::layer_norm_naive", "backward::layer_norm_coalesced",
                                       "backward::layer_norm_separate", "backward::layer_norm"});
  std::vector<std::string> peers;
  for (const char* peer : {"PyTorch eager", "torch.compile", "Liger", "TransformerEngine", "Quack"}) {
    for (const char* operation : {"layer_norm", "rms_norm", "layer_norm_backward"})
      peers.push_back(fmt::format("{}: {}", peer, operation));
  }
  write("peers.json", peers);
}

}  // namespace

TEST_CASE("a chart shows the largest size, a cold L2, and the last kernel of each chapter") {
  const ResultsFolder folder;
  folder.write("01_three_pass_benchmark.json",
               stored({timed(cold("three_pass::layer_norm_thread_per_row", 16, 256), 1, 0.11),
                       timed(cold("three_pass::layer_norm", 16, 256), 1, 0.22),
                       timed(cold("three_pass::layer_norm", 1, 256), 1, 0.91),
                       timed(cold("three_pass::layer_norm", 5, 768), 1, 0.33),
                       timed(cold("three_pass::layer_norm", 4, 1024), 1, 0.44),
                       timed(cold("three_pass::layer_norm", 1, 1024), 1, 0.92),
                       timed("three_pass::layer_norm/rows:4/cols:1024/warm_L2", 1, 0.93)}));
  folder.write("01_1_solution_benchmark.json", stored({timed(cold("three_pass::layer_norm", 8192, 1024), 1, 0.94)}));
  folder.write("06_rms_norm_benchmark.json", stored({timed(cold("rms_norm::rms_norm", 16, 256), 1, 0.95)}));
  folder.write("peers.json", stored({timed(cold("Liger: layer_norm", 16, 256), 1, 0.55),
                                     timed(cold("three_pass::layer_norm", 16, 256), 1, 0.96),
                                     untimed(cold("Liger: layer_norm", 4, 1024), "wrong", "element 3 is 1"),
                                     untimed(cold("Liger: layer_norm", 1, 1024), "wrong", "not on the chart")},
                                    "2031-02-05"));
  CHECK(learn::chart_text(learn::chart_of("forward", folder.path)) ==
        "LayerNorm by the number of columns: rate as a fraction of that of a copy, 2¹²\n"
        "floats, cold L2\n"
        "\n"
        "H, columns of a row      256    768   1024\n"
        "three_pass::layer_norm  0.22   0.33   0.44\n"
        "Liger                   0.55\n"
        "\n"
        "Liger: layer_norm on 4 × 1 024 has no figure, wrong: element 3 is 1\n"
        "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123.\n"
        "Peers: measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-05, commit abc123.\n");
  // A point for each of these four figures, and nothing of what was wrong.
  CHECK(markers(learn::chart_svg(learn::chart_of("forward", folder.path)), "marker") == 4);
  const learn::Chart rms_norm = learn::chart_of("rms_norm", folder.path);
  REQUIRE(rms_norm.panels.at(0).curves.size() == 1);
  CHECK(rms_norm.panels[0].curves[0].name == "rms_norm::rms_norm");
}

TEST_CASE("points lie where the axes say: H by powers of two, a fraction from 0 to 1") {
  const ResultsFolder folder;
  folder.write("01_three_pass_benchmark.json", stored({timed(cold("three_pass::layer_norm", 16, 256), 1, 0.25),
                                                       timed(cold("three_pass::layer_norm", 4, 1024), 1, 0.5),
                                                       timed(cold("three_pass::layer_norm", 1, 4096), 1, 0.8)}));
  const std::string svg = learn::chart_svg(learn::chart_of("forward", folder.path));
  // The frame is 480 wide from x = 64 and 400 high from y = 64; 1024 is halfway between 256 and 4096.
  CHECK(has(svg, R"(class="c0 curve" d="M64 364L304 264L544 144")"));  // 64 + 400 · (1 − fraction)
  for (const char* place : {"M64 364m", "M304 264m", "M544 144m"}) CHECK(has(svg, place));
  CHECK(markers(svg, "marker") == 3);
}

TEST_CASE("a kernel that is faster than the copy has room above it") {
  const ResultsFolder folder;
  folder.write("06_rms_norm_benchmark.json", stored({timed(cold("rms_norm::rms_norm", 16, 256), 1, 1.25),
                                                     timed(cold("rms_norm::rms_norm", 4, 1024), 1, 0.65)}));
  const std::string svg = learn::chart_svg(learn::chart_of("rms_norm", folder.path));
  // The scale ends at 1.3: 0.65 lies in the middle, and the copy at 64 + 400 · 0.3/1.3.
  CHECK(has(svg, "M544 264m"));
  CHECK(has(svg, R"(class="copy" d="M64 156.31L544 156.31")"));
}

TEST_CASE("the axes of a latency are logarithmic, and both panels have the same") {
  const ResultsFolder folder;
  folder.write("01_three_pass_benchmark.json", stored({timed(cold("three_pass::layer_norm", 1, 4096), 0.001, 0.1),
                                                       timed(cold("three_pass::layer_norm", 128, 4096), 0.010, 0.1),
                                                       timed(cold("three_pass::layer_norm", 512, 4096), 0.5, 0.1),
                                                       timed(cold("three_pass::layer_norm", 1, 8192), 0.010, 0.1),
                                                       timed(cold("three_pass::layer_norm", 128, 8192), 0.1, 0.1)}));
  const learn::Chart chart = learn::chart_of("latency", folder.path);
  const std::string svg = learn::chart_svg(chart);
  // From 1 to 100 µs in 250: the first panel from y = 86, the second from 64 + 22 + 250 + 44 + 22 = 402.
  CHECK(has(svg, R"(class="c0 curve" d="M64 336L544 211")"));
  CHECK(has(svg, R"(class="c0 curve" d="M64 527L544 402")"));
  const std::string text = learn::chart_text(chart);
  CHECK(has(text, "three_pass::layer_norm   1.0   10.0\n"));
  CHECK(has(text, "three_pass::layer_norm  10.0  100.0\n"));
  CHECK(!has(text, "512"));
}

TEST_CASE("the ladder: every kernel of the forward and the copies, at two numbers of columns, and no other figure") {
  const ResultsFolder folder;
  folder.write("00_roofline_benchmark.json", stored({timed("copy::wide/count:65536/cold_L2", 1, 1.0),
                                                     timed("copy::wide/count:4096/cold_L2", 1, 0.91)}));
  folder.write("02_one_pass_benchmark.json", stored({timed(cold("one_pass::layer_norm", 16, 4096), 1, 0.5),
                                                     timed(cold("one_pass::layer_norm", 8, 8192), 1, 0.25),
                                                     timed(cold("one_pass::layer_norm", 4, 16384), 1, 0.92),
                                                     timed(cold("one_pass::layer_norm", 1, 4096), 1, 0.93),
                                                     timed(cold("one_pass::layer_norm_shifted", 16, 4096), 1, 0.75)}));
  folder.write("06_rms_norm_benchmark.json", stored({timed(cold("rms_norm::rms_norm", 16, 4096), 1, 0.062)}));
  folder.write("07_backward_benchmark.json", stored({timed(cold("backward::layer_norm", 16, 4096), 1, 0.94)}));
  folder.write("peers.json", stored({timed(cold("Liger: layer_norm", 16, 4096), 1, 0.95)}));
  const learn::Chart chart = learn::chart_of("ladder", folder.path);
  CHECK(learn::chart_text(chart) == "The ladder, measured: rate as a fraction of that of a copy, 2¹⁶ floats, cold L2\n"
                                    "\n"
                                    "H                             4096   8192\n"
                                    "copy::wide                    1.00   1.00\n"
                                    "one_pass::layer_norm          0.50   0.25\n"
                                    "one_pass::layer_norm_shifted  0.75\n"
                                    "rms_norm::rms_norm           0.062\n"
                                    "\n"
                                    "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123.\n");
  const std::string svg = learn::chart_svg(chart);
  CHECK(all(svg, R"re(<text class="small" [^>]*>([^<]*)<)re") ==
        std::vector<std::string>{"1.00", "1.00", "0.50", "0.25", "0.75", "0.062"});
  // A bar is 190 long for the copy's rate.
  CHECK(all(svg, R"re(<rect class="c\d bar" [^>]* width="([^"]*)")re") ==
        std::vector<std::string>{"190", "190", "95", "47.5", "142.5", "11.78"});
}

TEST_CASE("shapes: a colour for each number of threads, dashed where a block has several rows") {
  const ResultsFolder folder;
  folder.write("05_fused_layer_norm_benchmark.json",
               stored({timed(cold("shape 32×1", 16, 256), 1, 0.5), timed(cold("shape 32×1", 4, 1024), 1, 0.4),
                       timed(cold("shape 32×8", 16, 256), 1, 0.6), timed(cold("shape 64×1", 16, 256), 1, 0.7),
                       timed(cold("fused::layer_norm", 64, 256), 1, 0.9)}));
  const std::vector<learn::Curve> curves = learn::chart_of("shapes", folder.path).panels.at(0).curves;
  REQUIRE(curves.size() == 3);
  CHECK(curves[0].name == "32×1");
  CHECK(curves[0].points.size() == 2);
  CHECK(curves[0].colour == curves[1].colour);
  CHECK(curves[0].colour != curves[2].colour);
  CHECK(!curves[0].dashed);
  CHECK(curves[1].dashed);
  CHECK(curves[0].marker != curves[1].marker);
}

TEST_CASE("a noisy point is hollow in the picture and has its mark in the table") {
  const auto run = [](double first, double second) {
    return stored({timed(cold("three_pass::layer_norm", 16, 256), first, 0.25),
                   timed(cold("three_pass::layer_norm", 4, 1024), second, 0.5)});
  };
  const ResultsFolder folder;
  folder.write("01_three_pass_benchmark.json", run(1, 1));
  const std::string once = learn::chart_svg(learn::chart_of("forward", folder.path));
  CHECK(!has(once, R"( marker hollow")"));
  CHECK(!has(once, "hollow: the median"));
  folder.write("second/01_three_pass_benchmark.json", run(1.01, 1.05));
  const learn::Chart chart = learn::chart_of("forward", folder.path);
  const std::string svg = learn::chart_svg(chart);
  CHECK(all(svg, R"re(marker hollow" d="M([^m]*)m)re") == std::vector<std::string>{"544 264"});
  CHECK(has(svg, "hollow: the median of a second run differs by more than 3 %"));
  CHECK(has(learn::chart_text(chart), "three_pass::layer_norm  0.25   0.50~\n"));
  CHECK(has(learn::chart_text(chart), "~ the median of a second run differs by more than 3 %\n"));
}

TEST_CASE("labels move as little as they must, and no more than the room allows") {
  using Heights = std::vector<double>;
  CHECK(learn::spread_labels({}, 10, 0, 100) == Heights{});
  CHECK(learn::spread_labels({10, 50}, 10, 0, 100) == Heights{10, 50});
  CHECK(learn::spread_labels({50, 50, 50}, 10, 0, 100) == Heights{40, 50, 60});  // the smallest sum of squares
  CHECK(learn::spread_labels({20, 52, 54}, 10, 0, 100) == Heights{20, 48, 58});
  CHECK(learn::spread_labels({1, 1}, 10, 0, 100) == Heights{0, 10});
  CHECK(learn::spread_labels({99, 99, 99}, 10, 0, 100) == Heights{80, 90, 100});
}

TEST_CASE("on the whole grid every chart fits: text into 80 columns, labels on the page and not on each other") {
  const ResultsFolder folder;
  write_full_grid(folder);
  for (const std::string& name : learn::chart_names()) {
    CAPTURE(name);
    const learn::Chart chart = learn::chart_of(name, folder.path);
    for (const std::string& line : learn::lines_of(learn::chart_text(chart))) {
      CHECK_MESSAGE(learn::columns_of(line) <= learn::terminal_columns, line);
      CHECK_MESSAGE(!line.ends_with(' '), line);
    }
    const std::string svg = learn::chart_svg(chart);
    const double page_height = std::stod(all(svg, R"re(<svg [^>]* height="([^"]*)")re").at(0));
    double before = 0;
    std::size_t curves = 0, points = 0;
    for (const learn::Panel& panel : chart.panels) {
      curves += panel.curves.size();
      for (const learn::Curve& curve : panel.curves) points += curve.points.size();
    }
    const std::vector<std::string> heights = all(svg, labels);
    CHECK(heights.size() == curves);
    for (const std::string& height : heights) {
      CHECK(std::stod(height) >= before + 15.9);  // letters of 12 px
      before = std::stod(height);
    }
    CHECK(before < page_height - 20);
    // A letter of DejaVu Sans, a wide face, takes 6.8 on average at most.
    const std::regex label(R"re(<text class="label" x="([^"]*)" y="[^"]*" text-anchor="(\w*)">([^<]*)<)re");
    for (std::sregex_iterator match(svg.begin(), svg.end(), label), end; match != end; ++match) {
      const double x = std::stod((*match)[1]), width = 6.8 * static_cast<double>(learn::columns_of((*match)[3]));
      CHECK_MESSAGE(((*match)[2] == "end" ? x - width >= 0 : x + width <= 816), (*match)[3].str());
    }
    if (chart.kind != learn::Chart::Kind::bars) CHECK(markers(svg, "marker") == points);
    CHECK(count(svg, "prefers-color-scheme: dark") == 1);
    CHECK(has(svg, "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123."));
    CHECK(!has(svg, "nan"));
  }
}

TEST_CASE("a kernel has the same colour in both panels of the latency, though another has no point in one") {
  const ResultsFolder folder;
  folder.write("01_three_pass_benchmark.json", stored({timed(cold("three_pass::layer_norm", 1, 4096), 0.005, 0.1)}));
  folder.write("03_welford_benchmark.json", stored({timed(cold("welford::layer_norm", 1, 4096), 0.006, 0.1),
                                                    timed(cold("welford::layer_norm", 1, 8192), 0.007, 0.1)}));
  const learn::Chart chart = learn::chart_of("latency", folder.path);
  REQUIRE(chart.panels.size() == 2);
  REQUIRE(chart.panels[1].curves.size() == 1);
  CHECK(chart.panels[1].curves[0].name == "welford::layer_norm");
  CHECK(chart.panels[1].curves[0].colour == chart.panels[0].curves.at(1).colour);
}

TEST_CASE("no two curves of a chart look the same") {
  const ResultsFolder folder;
  write_full_grid(folder);
  for (const std::string& name : learn::chart_names()) {
    const learn::Chart chart = learn::chart_of(name, folder.path);
    if (chart.kind == learn::Chart::Kind::bars) continue;
    for (const learn::Panel& panel : chart.panels) {
      std::set<std::pair<int, int>> looks;
      for (const learn::Curve& curve : panel.curves) looks.insert({curve.colour % 8, curve.marker % 6});
      CHECK_MESSAGE(looks.size() == panel.curves.size(), name);
    }
  }
}

TEST_CASE("a chart without its measurements says what is missing and where") {
  const ResultsFolder folder;
  const auto refused = [&](const char* name) { return error_of([&] { learn::chart_of(name, folder.path); }); };
  CHECK(refused("forward") == fmt::format("There is no folder {}.", folder.path.string()));
  folder.write("07_backward_benchmark.json", stored({timed(cold("backward::layer_norm", 16, 256), 1, 0.5)}));
  CHECK(refused("backward") == "");
  for (const char* name : {"ladder", "forward", "rms_norm", "latency", "shapes"}) {
    CHECK(refused(name) == fmt::format("{} holds no measurement for the chart '{}'; the results of the chapters are "
                                       "files NN_name_benchmark.json.",
                                       folder.path.string(), name));
  }
  CHECK(refused("pie") ==
        "there is no chart 'pie'; the charts are ladder, forward, rms_norm, backward, latency, shapes.");
  folder.write("03_welford_benchmark.json", "no JSON");
  CHECK(refused("backward").starts_with((folder.path / "03_welford_benchmark.json").string() + " cannot be used"));
}
