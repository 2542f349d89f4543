/// The tables of stored measurements.
#include "error_of.h"
#include "stored_results.h"

#include <doctest/doctest.h>
#include <learn/results.h>

#include <stdexcept>
#include <string>

namespace {

learn::Measurements of(const std::vector<std::string>& benchmarks, const std::string& date = "2031-02-03") {
  return learn::measurements(stored(benchmarks, date), "results.json");
}

const std::string machine = "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123.\n";

}  // namespace

TEST_CASE("results: a line for each benchmark, and the machine below") {
  CHECK(learn::results_table(of({timed("copy::wide/count:2097152/warm_L2", 0.00425, 0.966),
                                 timed("n::norm/rows:65536/cols:4096/cold_L2", 0.5888, 0.8526),
                                 timed("n::slow/rows:512/cols:4096/warm_L2", 2.6233, 0.00187)})) ==
        "| kernel | size | L2 | median ms | GB/s | of a copy |\n"
        "|---|---|---|---|---|---|\n"
        "| `copy::wide` | 2 097 152 | warm | 0.0043 | 3864 | 0.97 |\n"
        "| `n::norm` | 65 536 × 4 096 | cold | 0.5888 | 3410 | 0.85 |\n"
        "| `n::slow` | 512 × 4 096 | warm | 2.6233 | 7 | 0.0019 |\n"
        "\n" +
            machine);
}

TEST_CASE("results: of each number of columns the largest size, and few numbers of columns") {
  CHECK(learn::results_table(of(
            {timed("copy::wide/count:4096/cold_L2", 1, 1), timed("copy::wide/count:256/cold_L2", 2, 1),
             timed("n::norm/rows:1/cols:4096/cold_L2", 3, 0.5), timed("n::norm/rows:16/cols:4096/cold_L2", 4, 0.5),
             timed("n::norm/rows:8/cols:4096/warm_L2", 5, 0.5), timed("n::norm/rows:13/cols:5120/cold_L2", 6, 0.5)})) ==
        "| kernel | size | L2 | median ms | GB/s | of a copy |\n"
        "|---|---|---|---|---|---|\n"
        "| `copy::wide` | 4 096 | cold | 1.0000 | 4000 | 1.00 |\n"
        "| `n::norm` | 16 × 4 096 | cold | 4.0000 | 2000 | 0.50 |\n"
        "| `n::norm` | 8 × 4 096 | warm | 5.0000 | 2000 | 0.50 |\n"
        "\n" +
            machine);
}

TEST_CASE("fractions: kernels × columns, cold, the largest of a column in bold, files one below the other") {
  const learn::Measurements shapes = of(
      {timed("shape 32×1/rows:16/cols:4096/cold_L2", 1, 0.5), timed("shape 32×1/rows:256/cols:256/cold_L2", 1, 0.801),
       timed("shape 32×1/rows:512/cols:4096/warm_L2", 1, 9), timed("shape 64×1/rows:16/cols:4096/cold_L2", 1, 0.75),
       timed("shape 64×1/rows:256/cols:256/cold_L2", 1, 0.798)});
  const learn::Measurements chapter =
      of({timed("n::norm/rows:16/cols:4096/cold_L2", 1, 0.0187), timed("copy::wide/count:2097152/cold_L2", 1, 1)},
         "2031-02-04");
  const std::string machines = machine + "Measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-04, commit abc123.\n";
  CHECK(learn::fractions_table({shapes, chapter}) == "| kernel | 256 | 4 096 |\n"
                                                     "|---|---|---|\n"
                                                     "| `shape 32×1` | **0.80** | 0.50 |\n"
                                                     "| `shape 64×1` | **0.80** | **0.75** |\n"
                                                     "| `n::norm` |  | 0.019 |\n"
                                                     "\n" +
                                                         machines);
  // The ladder: the course's kernels alone.
  CHECK(learn::ladder_table({shapes, chapter}) == "| kernel | 4 096 |\n"
                                                  "|---|---|\n"
                                                  "| `n::norm` | **0.019** |\n"
                                                  "\n" +
                                                      machines);
  CHECK_THROWS_WITH_AS(learn::fractions_table({of({})}), doctest::Contains("hold no kernel"), std::runtime_error);
}

TEST_CASE("a fraction has two digits, however small it is") {
  CHECK(learn::fraction(1.004) == "1.00");
  CHECK(learn::fraction(0.0999) == "0.10");
  CHECK(learn::fraction(0.0598) == "0.060");
  CHECK(learn::fraction(0.0015) == "0.0015");
}

TEST_CASE("fractions: a kernel that was measured on less than the others has no figure in that column") {
  CHECK(learn::fractions_table(
            {of({timed("n::a/rows:16/cols:4096/cold_L2", 1, 0.5), timed("n::a/rows:1/cols:4096/cold_L2", 1, 0.9),
                 timed("n::a/rows:21/cols:768/cold_L2", 1, 0.9), timed("n::a/rows:8/cols:8192/cold_L2", 1, 0.4),
                 timed("n::b/rows:1/cols:4096/cold_L2", 1, 0.8), timed("n::b/rows:8/cols:8192/cold_L2", 1, 0.3)})}) ==
        "| kernel | 4 096 | 8 192 |\n"
        "|---|---|---|\n"
        "| `n::a` | **0.50** | **0.40** |\n"
        "| `n::b` |  | 0.30 |\n"
        "\n" +
            machine);
}

TEST_CASE("peers: the kernels and peers of one operation; who is absent, wrong or refused stands below") {
  const learn::Measurements peers = learn::measurements(
      stored(
          {timed("fused::layer_norm/rows:16/cols:4096/cold_L2", 1, 0.86),
           timed("PyTorch eager: layer_norm/rows:16/cols:4096/cold_L2", 1, 0.7),
           timed("torch.compile: layer_norm/rows:16/cols:4096/cold_L2", 1, 0.8),
           timed("PyTorch eager: rms_norm/rows:16/cols:4096/cold_L2", 1, 0.6),
           timed("backward::layer_norm/rows:16/cols:4096/cold_L2", 1, 0.95),
           timed("Liger: layer_norm backward/rows:16/cols:4096/cold_L2", 1, 0.65),
           untimed("Liger: layer_norm/rows:16/cols:4096/cold_L2", "wrong", R"(element 3 is 1, expected 2\nmore)"),
           untimed("Quack: layer_norm/rows:16/cols:4096/cold_L2", "refused", "takes no fp32"),
           untimed("Quack: layer_norm/rows:256/cols:256/cold_L2", "refused", "takes no fp32"),
           untimed("Quack: rms_norm/rows:16/cols:4096/cold_L2", "refused", "no such thing")},
          "2031-02-03",
          R"json(, "peers": {"PyTorch eager": "2.3", "torch.compile": "3.1", "Liger": "0.7", "Quack": "0.1"}, "absent": ["A (no module a)", "B (no module b)"])json"),
      "peers.json");
  CHECK(learn::peers_table("layer_norm", peers) ==
        "| kernel | 4 096 |\n"
        "|---|---|\n"
        "| `fused::layer_norm` | **0.86** |\n"
        "| `PyTorch eager: layer_norm` | 0.70 |\n"
        "| `torch.compile: layer_norm` | 0.80 |\n"
        "\n" +
            machine +
            "\n"
            "Without a figure:\n"
            "\n"
            "* `Liger: layer_norm` on 16 × 4 096: wrong: element 3 is 1, expected 2\n"
            "* `Quack: layer_norm` on 2 sizes: refused: takes no fp32\n"
            "\n"
            "Versions: PyTorch eager 2.3, torch.compile with Triton 3.1.\n"
            "\n"
            "Absent: A (no module a); B (no module b).\n");
  const std::string backward = learn::peers_table("layer_norm_backward", peers);
  CHECK(backward.starts_with("| kernel | 4 096 |\n|---|---|\n"
                             "| `backward::layer_norm` | **0.95** |\n"
                             "| `Liger: layer_norm backward` | 0.65 |\n\n"));
  CHECK(backward.find("Without a figure") == std::string::npos);
  CHECK_THROWS_WITH_AS(learn::peers_table("softmax", peers), doctest::Contains("hold no kernel"), std::runtime_error);
}

TEST_CASE("an operation is that of the kernel's name; parts, shapes and exercises have none") {
  CHECK(learn::operation_of("copy::scalar") == "copy");
  CHECK(learn::operation_of("one_pass::layer_norm_shifted") == "layer_norm");
  CHECK(learn::operation_of("rms_norm::layer_norm") == "layer_norm");
  CHECK(learn::operation_of("rms_norm::rms_norm") == "rms_norm");
  CHECK(learn::operation_of("backward::rms_norm") == "rms_norm_backward");
  CHECK(learn::operation_of("torch.compile: rms_norm_backward") == "rms_norm_backward");
  CHECK(learn::peer_of("torch.compile: rms_norm_backward") == "torch.compile");
  for (const char* none : {"backward::layer_norm_separate, dx alone", "shape 32×1", "REFERENCE: exercise::layer_norm"})
    CHECK(learn::operation_of(none) == "");
  CHECK(learn::peer_of("REFERENCE: exercise::layer_norm") == "");
}

TEST_CASE("noise: medians of more than 100 µs that differ by more than 3 % in a second run are named and marked") {
  const auto run = [](double still, double slower, double faster, double a_little, double brief) {
    return stored({timed("n::norm/rows:256/cols:256/cold_L2", still, 0.5),
                   timed("n::norm/rows:64/cols:1024/cold_L2", slower, 0.6),
                   timed("n::norm/rows:16/cols:4096/cold_L2", faster, 0.7),
                   timed("n::norm/rows:8/cols:8192/cold_L2", a_little, 0.8),
                   timed("n::norm/rows:4/cols:16384/cold_L2", brief, 0.9)});
  };
  const ResultsFolder folder;
  folder.write("a.json", run(1, 1, 1, 1, 0.08));
  CHECK_THROWS_WITH_AS(learn::noise_table(folder.path), doctest::Contains("holds no second run"), std::runtime_error);
  CHECK(learn::fractions_table({learn::stored_measurements(folder.path / "a.json")}).find('~') == std::string::npos);

  folder.write("second/a.json", run(1, 1.04, 0.95, 1.029, 0.2));
  folder.write("b.json", stored({}));
  CHECK(learn::noise_table(folder.path) ==
        "Points that take longer than 100 µs in both runs: 4. Of them differ by more than 3 % in the median: 2.\n"
        "\n"
        "| kernel | size | L2 | first, ms | second, ms | difference |\n"
        "|---|---|---|---|---|---|\n"
        "| `n::norm` | 64 × 1 024 | cold | 1.0000 | 1.0400 | +4.0 % |\n"
        "| `n::norm` | 16 × 4 096 | cold | 1.0000 | 0.9500 | -5.0 % |\n"
        "\n"
        "First run: measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123.\n"
        "Second run: measured on one Card 7, driver 1.2, CUDA 9.8, 2031-02-03, commit abc123.\n"
        "Measured once: `b.json`.\n");
  const learn::Measurements marked = learn::stored_measurements(folder.path / "a.json");
  CHECK(learn::fractions_table({marked}) == "| kernel | 256 | 1 024 | 4 096 | 8 192 | 16 384 |\n"
                                            "|---|---|---|---|---|---|\n"
                                            "| `n::norm` | **0.50** | **0.60**~ | **0.70**~ | **0.80** | **0.90** |\n"
                                            "\n" +
                                                machine +
                                                "`~`: the median of a second run differs by more than 3 %.\n");
  CHECK(learn::results_table(marked).find("| 64 × 1 024 | cold | 1.0000~ |") != std::string::npos);
  CHECK(learn::results_table(marked).find("| 256 × 256 | cold | 1.0000 |") != std::string::npos);
}

TEST_CASE("a mark names a table and its files; what names none says which there are") {
  const ResultsFolder folder;
  folder.write("card/a.json", stored({timed("n::norm/rows:16/cols:4096/cold_L2", 1, 0.5),
                                      timed("shape 32×1/rows:16/cols:4096/cold_L2", 1, 0.4)}));
  folder.write("card/b.json", stored({timed("m::norm/rows:16/cols:4096/cold_L2", 1, 0.25),
                                      timed("Liger: layer_norm/rows:16/cols:4096/cold_L2", 1, 0.75)}));
  folder.write("card/second/a.json", stored({timed("n::norm/rows:16/cols:4096/cold_L2", 2, 0.25)}));
  const auto table = [&](const char* name) { return learn::stored_table(name, folder.path); };
  const std::string head = "| kernel | 4 096 |\n|---|---|\n";
  CHECK(table("results card/a").find("| `n::norm` | 16 × 4 096 | cold | 1.0000~ | 2000 | 0.50 |\n") !=
        std::string::npos);
  CHECK(table("fractions card/a card/b")
            .starts_with(head + "| `n::norm` | 0.50~ |\n| `shape 32×1` | 0.40 |\n| `m::norm` | 0.25 |\n"
                                "| `Liger: layer_norm` | **0.75** |\n\n"));
  CHECK(table("fractions card/a card/b only n::,shape")
            .starts_with(head + "| `n::norm` | **0.50**~ |\n| `shape 32×1` | 0.40 |\n\n"));
  CHECK_THROWS_WITH_AS(table("fractions card/a only n,x"), doctest::Contains("begins with 'x'"), std::runtime_error);
  CHECK(table("ladder card/a card/b").starts_with(head + "| `n::norm` | **0.50**~ |\n| `m::norm` | 0.25 |\n\n"));
  CHECK(table("peers layer_norm card/b").starts_with(head + "| `Liger: layer_norm` | **0.75** |\n\n"));
  CHECK(table("noise card").starts_with("Points that take longer than 100 µs in both runs: 1. "));
  for (const char* none : {"results", "results card/a card/b", "fractions", "peers card/b", "noise", "pie card/a", "",
                           "results card/a only n", "noise card only n", "page", "page card/a card/b"}) {
    CHECK_THROWS_WITH_AS(table(none), doctest::Contains("there is no table '"), std::runtime_error);
  }
  CHECK_THROWS_WITH_AS(table("results card/c"), doctest::Contains("c.json"), std::runtime_error);
}

TEST_CASE("a stored page lends its table, or the lines of some kernels, and says where it was measured") {
  const ResultsFolder folder;
  folder.write("card/page.md", "# Page\n\ncard: Card 7  \ndriver: 1.2  \nTool: 3  \ndate: 2031-02-03  \ncommit: "
                               "abc\n\nWords | more.\n\n| kernel | columns |\n"
                               "|---|---|\n| `norm` | 1 |\n| `shape 2` | 2 |\n");
  const auto table = [&](const char* name) { return learn::stored_table(name, folder.path); };
  const std::string head = "| kernel | columns |\n|---|---|\n";
  const std::string machine = "\nMeasured on one Card 7, driver 1.2, 2031-02-03, commit abc.\n";
  CHECK(table("page card/page") == head + "| `norm` | 1 |\n| `shape 2` | 2 |\n" + machine);
  CHECK(table("page card/page only shape") == head + "| `shape 2` | 2 |\n" + machine);
  CHECK_THROWS_WITH_AS(table("page card/page only none"), doctest::Contains("begins with 'none'"), std::runtime_error);
  folder.write("card/two.md", "card: A\n\n| k |\n|---|\n| `a` |\n\n| k |\n|---|\n| `b` |\n");
  folder.write("card/bare.md", "| k |\n|---|\n| `a` |\n");
  for (const char* none : {"page card/two", "page card/bare"})
    CHECK_THROWS_WITH_AS(table(none), doctest::Contains("no page with one table"), std::runtime_error);
  CHECK_THROWS_WITH_AS(table("page card/none"), doctest::Contains("none.md"), std::runtime_error);
}

TEST_CASE("what is no result of a GPU is refused with the name of the file") {
  const auto refused = [](const std::string& json) {
    return error_of([&] { learn::measurements(json, "some.json"); });
  };
  CHECK(
      refused(stored({}, "2031-02-03", "", "simt")) ==
      "some.json cannot be used as a benchmark's result: results need a run on a GPU, and this one counted on a CPU.");
  for (const std::string& json :
       {std::string("{}"), std::string("no JSON"), std::string("[]"),
        stored({R"({"name": "n::norm/rows:1/cols:1/cold_L2"})"}),
        stored({timed("n::norm/rows:one/cols:1/cold_L2", 1, 1)}), stored({R"({"name": 3})"})}) {
    CHECK_MESSAGE(refused(json).starts_with("some.json cannot be used as a benchmark's result: "), json);
  }
  CHECK(refused(stored({})) == "");
}
