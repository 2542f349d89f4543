/// What ./learn check makes of a test program's words, and how it tells it.
#include <doctest/doctest.h>
#include <learn/files.h>
#include <learn/gpu.h>
#include <learn/marks.h>
#include <learn/process.h>
#include <learn/text.h>
#include <learn/verdict.h>

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

namespace {

learn::Verdict start() {
  learn::Verdict verdict;
  verdict.exercise = "01.1";
  verdict.title = "The three passes (write)";
  verdict.file = "exercises/01_three_pass/1_three_passes.cuh";
  verdict.subject = "YOUR CODE";
  verdict.next = "./learn hint 01.1";
  return verdict;
}

/// The verdict on a program that wrote this report, printed this and ended with this code.
learn::Verdict verdict_on(const std::string& report, const std::string& printed, int exit_code) {
  learn::Verdict verdict = start();
  read_report(verdict, report, printed, exit_code);
  return verdict;
}

std::string failure(const std::string& message) {
  return R"({"test": "YOUR CODE: right", "file": "a_test.cu", "line": 7, "message": ")" + message + "\"}\n";
}
const char* const one_failed = "{\"tests\": 3, \"failed\": 1}\n";
const char* const all_passed = "{\"tests\": 3, \"failed\": 0}\n";

}  // namespace

TEST_CASE("a test passes only if its report has an end, and nothing failed") {
  using learn::Outcome;
  CHECK(verdict_on(all_passed, "", 0).outcome == Outcome::passed);
  CHECK(verdict_on(failure("wrong") + one_failed, "", 1).outcome == Outcome::failed);
  CHECK(verdict_on(failure("YOUR CODE is not written yet: …") + one_failed, "", 1).outcome == Outcome::not_written);
  // exit(0) in the code, whatever it prints before.
  CHECK(verdict_on("", "", 0).outcome == Outcome::ended_early);
  CHECK(verdict_on("", all_passed, 0).outcome == Outcome::ended_early);
  CHECK(verdict_on("{\"tests\": 0, \"failed\": 0}\n", "", 0).outcome == Outcome::failed);
  CHECK(verdict_on(all_passed, "", 1).outcome == Outcome::failed);
  CHECK(verdict_on(all_passed, "", 124).outcome == Outcome::endless);
  CHECK(verdict_on(failure("wrong"), "", 137).outcome == Outcome::endless);
  CHECK(verdict_on("", "", 128 + 11).outcome == Outcome::crashed);
  CHECK(verdict_on("", "stack: a thread used up its stack\n  at a.cuh:3 in k\n", 70).outcome == Outcome::crashed);
  CHECK(verdict_on("", "exit: the kernel calls exit()\n  at a.cuh:3 in k\n", 70).outcome == Outcome::ended_early);
  // A report that was cut off in the middle of a line.
  CHECK(verdict_on(failure("wrong") + "{\"tests\": 3, \"fai", "", 70).outcome == Outcome::ended_early);
  for (const int code : {1, 70, 124, 137, 139}) CHECK_FALSE(verdict_on("", "", code).sentence.empty());
}

TEST_CASE("a message is taken apart: what is wrong, the likely mistake, the findings") {
  const learn::SplitText parts = learn::split({"YOUR CODE is wrong on 3×100", "y: 2 of 300 elements are wrong",
                                               "likely mistake: eps is missing (eps_missing); read a/README.md, Idea",
                                               "race: threads meet", "  at a.cuh:45 in kernel", "  block (0,0,0)",
                                               "and 2 more findings", "memory: no place follows this"});
  CHECK(parts.rest ==
        Lines{"YOUR CODE is wrong on 3×100", "y: 2 of 300 elements are wrong", "memory: no place follows this"});
  REQUIRE(parts.mistakes.size() == 1);
  CHECK(parts.mistakes[0].name == "eps_missing");
  CHECK(parts.mistakes[0].sentence == "eps is missing");
  CHECK(parts.mistakes[0].section == "a/README.md, Idea");
  REQUIRE(parts.faults.size() == 1);
  CHECK(parts.faults[0].check == "race");
  CHECK(parts.faults[0].title == "threads meet");
  CHECK(parts.faults[0].file == "a.cuh");
  CHECK(parts.faults[0].line == 45);
  CHECK(parts.faults[0].text.size() == 4);
  CHECK_FALSE(parts.no_known_mistake);
  CHECK(learn::split({"wrong", "no known mistake fits"}).no_known_mistake);

  const learn::SplitText led_up_to =
      learn::split({"YOUR CODE is wrong in the last rows: init: read of memory", "  at a.cuh:45 in kernel"});
  CHECK(led_up_to.rest == Lines{"YOUR CODE is wrong in the last rows"});
  REQUIRE(led_up_to.faults.size() == 1);
  CHECK(led_up_to.faults[0].text == Lines{"init: read of memory", "  at a.cuh:45 in kernel"});
}

TEST_CASE("the verdict is told in one order: verdict, failure, mistake, finding with its code, next") {
  const fs::path root = fs::temp_directory_path() / ("verdict_test_" + std::to_string(getpid()));
  learn::write_text(root / "a.cuh", "one\n  two = 2;\nthree\n");
  const std::string message =
      "worst: row 1\\nlikely mistake: eps is missing (eps_missing); read a/README.md, Idea\\n"
      "race: threads meet\\n  at a.cuh:2 in kernel\\n  thread 1 writes it here; thread 2 reads it at a.cuh:3";
  const std::string of_another_test = learn::replaced(failure("second"), "right", "other");
  const learn::Verdict verdict = verdict_on(failure(message) + of_another_test + one_failed, "hello\n", 1);
  CHECK(text(verdict, root.string(), false) ==
        "YOUR CODE printed:\n  hello\n\nYOUR CODE does not pass yet: 1 of 3 tests failed.\n"
        "\nFailed: right\n  at a_test.cu:7\n  worst: row 1\n"
        "\nLikely mistake: eps is missing.\n  Read a/README.md, Idea.\n"
        "\nFindings:\n  race: threads meet\n    at a.cuh:2 in kernel\n       2 | two = 2;\n"
        "    thread 1 writes it here; thread 2 reads it at a.cuh:3\n       3 | three\n"
        "\nNext: ./learn hint 01.1\n");
  CHECK(text(verdict, root.string(), true).find("\nFailed: other\n  at a_test.cu:7\n  second\n") != std::string::npos);
  // Of the first test that failed everything is told.
  const std::string both = text(verdict_on(failure("a") + failure("b") + one_failed, "", 1), root.string(), false);
  CHECK(both.find("  a\n\nFailed: right\n  at a_test.cu:7\n  b\n") != std::string::npos);

  const auto object = json(verdict, root.string());
  CHECK(object.at("verdict") == "failed");
  CHECK(object.at("passed") == false);
  CHECK(object.at("failures").size() == 2);
  CHECK(object.at("failures")[0].at("message") == "worst: row 1");
  CHECK(object.at("likely_mistakes")[0].at("name") == "eps_missing");
  CHECK(object.at("findings")[0].at("line") == 2);
  CHECK(object.at("findings")[0].at("source") == "two = 2;");
  fs::remove_all(root);
}

TEST_CASE("told in full, each failure has its own mistake and findings") {
  const std::string first = "worst: row 1\\nlikely mistake: eps is missing (eps_missing); read a/README.md, Idea";
  const std::string second = "race: threads meet\\n  at a.cuh:2 in kernel\\n\\nfor case 7";
  const learn::Verdict verdict = verdict_on(failure(first) + learn::replaced(failure(second), "right", "other"),
                                            "time: the kernel does not end\n  at b.cuh:3 in kernel\n", 124);
  const std::string of_first = "\nFailed: right\n  at a_test.cu:7\n  worst: row 1\n\nLikely mistake: eps is missing.\n "
                               " Read a/README.md, Idea.\n";
  const std::string of_second =
      "\nFailed: other\n  at a_test.cu:7\n  for case 7\n\nFindings:\n  race: threads meet\n    at a.cuh:2 in kernel\n";
  const std::string of_end = "\nFindings:\n  time: the kernel does not end\n    at b.cuh:3 in kernel\n\nNext: ";
  CHECK(text(verdict, "/nonexistent", true).find(of_first + of_second + of_end) != std::string::npos);
  CHECK(text(verdict, "/nonexistent", false).find(of_first + of_end) != std::string::npos);
}

TEST_CASE("what a kernel prints may be no UTF-8, and a line of it may have no end") {
  const learn::Verdict verdict = verdict_on(all_passed, "caf\xe9\n" + std::string(1 << 20, 'x'), 0);
  const auto object = nlohmann::json::parse(json_line(verdict, "/nonexistent"));
  CHECK(object.at("passed") == true);
  CHECK(object.at("printed").get<std::string>().starts_with("caf\uFFFD\nxxx"));
  CHECK(text(verdict, "/nonexistent", false).size() < 1000);
}

TEST_CASE("two mistakes that fit are both told, and none is told as well") {
  const auto told = [](const std::string& message) {
    return text(verdict_on(failure(message) + one_failed, "", 1), "/nonexistent", false);
  };
  const std::string two = told("likely mistake: a (a); read r, s\\nlikely mistake: b (b); read r, t");
  CHECK(two.find("\nTwo known mistakes give these values:\n  a.\n  Read r, s.\n  b.\n  Read r, t.\n") !=
        std::string::npos);
  CHECK(told("no known mistake fits").find("\nNo known mistake fits these values.\n") != std::string::npos);
  CHECK(told("wrong").find("istake") == std::string::npos);
}

TEST_CASE("sentences fit into 80 columns, and code stays as it is") {
  const std::string sentence(200, 'x');
  std::string words;
  for (int i = 0; i < 40; ++i) words += "κ = 17 ";
  const learn::Verdict verdict = verdict_on(failure(words) + one_failed, sentence + "\n", 1);
  const std::string told = text(verdict, "/nonexistent", false);
  CHECK(told.find("  " + sentence + "\n") != std::string::npos);
  for (const std::string& line : learn::lines_of(told)) {
    CHECK_MESSAGE((learn::columns_of(line) <= 80 || line == "  " + sentence), line);
  }
}

TEST_CASE("of a failed build the reader sees the first error that is theirs") {
  const std::string file = "exercises/01_three_pass/1_passes.cuh";
  const Lines compiler{"FAILED: a.o", "common/a.h:1:2: error: elsewhere",
                       "  note",      file + ":3:4: error: here",
                       "    3 | x",   "ninja: build stopped"};
  CHECK(learn::first_error(compiler, file) == Lines{compiler[3], compiler[4]});
  const Lines next_function{"t.cu:3:4: error: 'exercise' has not been declared", "    3 | x",
                            "t.cu: In function 'void check()':", "t.cu:9:4: error: the same"};
  CHECK(learn::first_error(next_function, file) == Lines{next_function[0], next_function[1]});
  const Lines linker{"FAILED: chapters/03_3_exercise",
                     "/usr/bin/ld: test.cu.o: in function `kernel':", file + ":9: undefined reference to `__expf'",
                     "collect2: error: ld returned 1 exit status"};
  CHECK(learn::first_error(linker, file) == Lines{linker[2]});
  CHECK(learn::first_error({"no such target"}, file) == Lines{"no such target"});
}

TEST_CASE("an editor gets the place of each of the compiler's errors") {
  const auto found =
      learn::diagnostics_in({"a/b.cuh:3:14: error: expected ';'", "  3 | x", "c.h:1:2: warning: unused",
                             "/usr/bin/ld: x.o: in function `f':", "a/b.cuh:9: undefined reference to `g'",
                             "d.h:5:1: fatal error: gone", "e.h:1:1: note: here"});
  REQUIRE(found.size() == 4);
  CHECK(found[0].file == "a/b.cuh");
  CHECK(found[0].line == 3);
  CHECK(found[0].column == 14);
  CHECK(found[0].message == "expected ';'");
  CHECK(found[1].severity == "warning");
  CHECK(found[2].line == 9);
  CHECK(found[3].severity == "error");
}

TEST_CASE("compute-sanitizer's first report is told without the host's calls, and with the reader's file in full") {
  // As compute-sanitizer of CUDA 13.0 writes it.
  const std::string output =
      "========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 4 bytes\n"
      "=========     at exercise::layer_norm_kernel(LayerNormArgs)+0x700 in 1_three_passes.cuh:32\n"
      "=========     by thread (0,0,0) in block (0,0,0)\n=========     Saved host backtrace up to driver entry point\n"
      "=========         Host Frame: main in doctest_main.cpp:45 [0x2bb53] in 01_1_exercise\n=========\n"
      "[doctest] run\n========= Invalid __global__ read of size 4 bytes\n";
  const learn::Fault fault = learn::sanitizer_fault("memcheck", output, "exercises/01_three_pass/1_three_passes.cuh");
  CHECK(fault.check == "memcheck");
  CHECK(fault.title == "Invalid __global__ write of size 4 bytes");
  CHECK(fault.file == "exercises/01_three_pass/1_three_passes.cuh");
  CHECK(fault.line == 32);
  CHECK(fault.text == Lines{"compute-sanitizer memcheck: Invalid __global__ write of size 4 bytes",
                            "  at exercise::layer_norm_kernel(LayerNormArgs)+0x700 at "
                            "exercises/01_three_pass/1_three_passes.cuh:32",
                            "  by thread (0,0,0) in block (0,0,0)"});
}

TEST_CASE("a doctest program writes the report that is read here") {
  const fs::path report = fs::temp_directory_path() / ("report_" + std::to_string(getpid()));
  const auto verdict_of = [&](const std::string& test_case) {
    fs::remove(report);
    const learn::Finished finished =
        learn::run({LNH_REPORT_FIXTURE, "--reporters=report", "--out=" + report.string(), "--test-case=" + test_case});
    return verdict_on(fs::exists(report) ? learn::read_text(report) : "", finished.output, finished.exit_code);
  };
  const learn::Verdict passes = verdict_of("*passes*");
  CHECK(passes.passed());
  CHECK(passes.tests == 1);
  CHECK(passes.printed == Lines{"the code prints this"});

  const learn::Verdict fails = verdict_of("*message*");
  REQUIRE(fails.failures.size() == 2);
  CHECK(fails.failures[0].test == "a message, and a check without one");
  CHECK(fails.failures[0].message.rest == Lines{"SUBJECT says \"this\"", "and this, with a tab:\t.", "around it"});
  CHECK(fails.failures[1].message.rest == Lines{"expected one == 2, and it is 1 == 2", "around it"});
  CHECK(fails.failures[0].file.ends_with("report_fixture.cpp"));
  CHECK(fails.failures[0].line + 1 == fails.failures[1].line);
  CHECK(fails.failed == 1);

  CHECK(verdict_of("*throws*").failures.at(0).message.rest == Lines{"thrown: κ"});
  CHECK(verdict_of("*exits*").outcome == learn::Outcome::ended_early);
  CHECK(verdict_of("*leaves*").outcome == learn::Outcome::ended_early);
  CHECK(verdict_of("no such test").outcome == learn::Outcome::failed);
  fs::remove(report);
}
