/// What the commands of ./learn are made of: the course's folders, test counts, the contract's page, the command line.
#include "error_of.h"

#include <doctest/doctest.h>
#include <learn/cli.h>
#include <learn/commands.h>
#include <learn/contract.h>
#include <learn/course.h>
#include <learn/files.h>
#include <learn/junit.h>
#include <learn/process.h>
#include <simt/symbols.h>

#include <unistd.h>

#include <filesystem>

namespace fs = std::filesystem;

namespace {

/// A course of two chapters in a folder of its own, gone at the end of the test.
struct SmallCourse {
  fs::path root = fs::temp_directory_path() / ("small_course_" + std::to_string(getpid()));

  SmallCourse() {
    learn::write_text(root / "chapters/CMakeLists.txt",
                      "# contents\nadd_chapter(00_roofline)\nadd_chapter(01_three_pass)\n");
    learn::write_text(root / "chapters/00_roofline/README.md",
                      "# 00 The roofline\n\nMemory sets\nthe pace. More text.\n\nMore.\n");
    learn::write_text(root / "chapters/01_three_pass/three_pass.cuh", "");
    learn::write_text(
        root / "exercises/01_three_pass/README.md",
        "# Exercises\n\n## 01.1 The three passes\n\n## 01.2 The tree\n\n## 01.3 Find it elsewhere (read)\n");
    for (const char* task : {"2_tree", "1_passes"}) {
      learn::write_text(root / "exercises/01_three_pass" / (std::string(task) + "_test.cu"), "");
      learn::write_text(root / "exercises/01_three_pass" / (std::string(task) + ".cuh"), "");
    }
  }
  ~SmallCourse() { fs::remove_all(root); }
};

}  // namespace

TEST_CASE("the course is what its folders hold") {
  const SmallCourse course;
  const std::vector<learn::Chapter> chapters = learn::chapters(course.root);
  REQUIRE(chapters.size() == 2);
  CHECK(chapters[0].name == "00_roofline");
  CHECK(chapters[0].title == "The roofline");
  CHECK(chapters[0].idea == "Memory sets the pace.");
  CHECK(chapters[0].exercises.empty());
  CHECK(chapters[1].title == "three pass");  // it has no README yet
  REQUIRE(chapters[1].exercises.size() == 3);
  CHECK(chapters[1].exercises[0].id == "01.1");
  CHECK(chapters[1].exercises[0].title == "The three passes");
  CHECK(chapters[1].exercises[1].target == "01_2");
  CHECK(chapters[1].exercises[1].file == "exercises/01_three_pass/2_tree.cuh");
  CHECK(chapters[1].exercises[1].solution == "solutions/01_three_pass/2_tree.cuh");
  CHECK(!chapters[1].exercises[1].reading);
}

TEST_CASE("a reading exercise is a heading without a file") {
  const SmallCourse course;
  const learn::Exercise exercise = learn::find_exercise(learn::chapters(course.root), "01.3");
  CHECK(exercise.reading);
  CHECK(exercise.title == "Find it elsewhere (read)");
  CHECK(exercise.file == "exercises/01_three_pass/README.md");
  CHECK(exercise.solution == "solutions/01_three_pass/README.md");

  const std::string note = "01.3 is a reading exercise: there is no code of yours to check. The questions are in "
                           "exercises/01_three_pass/README.md, under 01.3. Write down your answers, then compare them: "
                           "./learn solve 01.3 --show.";
  CHECK(learn::reading_note(exercise) == note);
  const learn::Place place{.root = course.root, .build = course.root / "build"};
  CHECK(learn::check(place, {.exercise = "01.3"}) == learn::success);
  CHECK(error_of([&] { learn::profile(place, {.subject = "01.3"}); }) == note);
}

TEST_CASE("a listed chapter without a folder is named") {
  const SmallCourse course;
  fs::remove_all(course.root / "chapters/00_roofline");
  CHECK(error_of([&] { learn::chapters(course.root); }) ==
        "chapters/CMakeLists.txt lists 00_roofline, but there is no such folder in chapters/.");
}

TEST_CASE("an exercise is found by its number, and a wrong number says what there is") {
  const SmallCourse course;
  const std::vector<learn::Chapter> chapters = learn::chapters(course.root);
  CHECK(learn::find_exercise(chapters, "01.2").id == "01.2");
  CHECK(learn::find_exercise(chapters, "1.2").id == "01.2");
  CHECK(error_of([&] { learn::find_exercise(chapters, "99.9"); }) ==
        "There is no chapter 99, so there is no exercise 99.9. The exercises of this course are 01.1, 01.2, 01.3; "
        "./learn "
        "list shows "
        "them with their titles.");
  CHECK(
      error_of([&] { learn::find_exercise(chapters, "01.4"); }) ==
      "There is no exercise 01.4 in chapter 01. The exercises of that chapter are 01.1, 01.2, 01.3; ./learn list shows "
      "them with "
      "their titles.");
  CHECK(error_of([&] { learn::find_exercise(chapters, "tree"); }) ==
        "'tree' is no exercise: an exercise is named by chapter and number, for example 01.2.");
}

TEST_CASE("a doctest program counts as its test cases, any other test as one") {
  const auto count = [](const std::string& entries) {
    return learn::count_tests("<testsuite>" + entries + "</testsuite>").text();
  };
  const std::string four_of_five = "[doctest] test cases:  5 |  4 passed | 1 failed | 2 skipped\n";
  CHECK(
      count(
          R"(<testcase name="a" status="run"><system-out>[doctest] test cases: 12 | 12 passed | 0 failed | 3 skipped</system-out></testcase>)") ==
      "12 passed, 0 failed, 0 skipped");
  CHECK(count(R"(<testcase name="a" status="fail"><failure message=""/><system-out>)" + four_of_five +
              "</system-out></testcase>") == "4 passed, 1 failed, 0 skipped");
  CHECK(count(R"(<testcase name="shell" status="run"><system-out>fine</system-out></testcase>)") ==
        "1 passed, 0 failed, 0 skipped");
  CHECK(count(R"(<testcase name="crash" status="fail"><failure message=""/></testcase>)") ==
        "0 passed, 1 failed, 0 skipped");
  CHECK(count(R"(<testcase name="gpu" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>)") ==
        "0 passed, 0 failed, 1 skipped");
  CHECK(count(R"(<testcase name="gone" status="notrun"><skipped message="Unable to find executable"/></testcase>)") ==
        "0 passed, 1 failed, 0 skipped");
  SUBCASE("a stub that fails as it should is one test that passes") {
    CHECK(count(R"(<testcase name="stub" status="run"><system-out>)" + four_of_five + "</system-out></testcase>") ==
          "1 passed, 0 failed, 0 skipped");
  }
}

TEST_CASE("ctest's own report is read") {
  const SmallCourse folder;
  learn::write_text(
      folder.root / "CTestTestfile.cmake",
      "add_test(good \"/bin/echo\" \"[doctest] test cases: 3 | 3 passed | 0 failed | 0 skipped\")\n"
      "add_test(bad \"/bin/false\")\n"
      "add_test(skipped \"/bin/sh\" \"-c\" \"exit 77\")\nset_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)\n"
      "add_test(missing \"/no/such/program\")\n");
  learn::run({"ctest", "--test-dir", folder.root.string(), "--output-junit", (folder.root / "junit.xml").string()});
  CHECK(learn::count_tests(learn::read_text(folder.root / "junit.xml")).text() == "3 passed, 2 failed, 1 skipped");
}

namespace {

const char* const contract =
    "# comment\n\nrow | rows = 0 | nothing\nrow | cols = 0 | refused\nnote | cols = 0 | copy::* | a copy has no cols\n"
    "note | rows = 0 | ln::b | also without x\n";

}  // namespace

TEST_CASE("the contract's page has every row for every kernel, with its test or the reason why there is none") {
  const std::string page = learn::contract_page(
      contract, {{"00_test", "[doctest] listing\n=====\ncontract | rows = 0 | copy::a\nsome other test\n"},
                 {"01_test", "contract | cols = 0 | ln::b\ncontract | rows = 0 | ln::b\n"}});
  CHECK(page.find("## copy::a\n\nHeld by `00_test`.\n\n| input | result | test |\n|---|---|---|\n"
                  "| rows = 0 | nothing | `contract \\| rows = 0 \\| copy::a` |\n"
                  "| cols = 0 | refused | none: a copy has no cols |\n") != std::string::npos);
  CHECK(page.find("## ln::b\n\nHeld by `01_test`.\n\n| input | result | test |\n|---|---|---|\n"
                  "| rows = 0 | nothing | `contract \\| rows = 0 \\| ln::b`; also without x |\n"
                  "| cols = 0 | refused | `contract \\| cols = 0 \\| ln::b` |\n") != std::string::npos);
}

TEST_CASE("a backward has rows of its own") {
  const std::string rows =
      "row | rows = 0 | nothing\nbackward row | rows = 0 | sums are 0\nbackward row | dx null | none\n";
  const std::string tests = "contract | rows = 0 | ln::b\ncontract | rows = 0 | backward::b\n";
  const std::string page = learn::contract_page(rows, {{"07_test", tests + "contract | dx null | backward::b\n"}});
  CHECK(page.ends_with("## ln::b\n\nHeld by `07_test`.\n\n| input | result | test |\n|---|---|---|\n"
                       "| rows = 0 | nothing | `contract \\| rows = 0 \\| ln::b` |\n"
                       "\n## backward::b\n\nHeld by `07_test`.\n\n| input | result | test |\n|---|---|---|\n"
                       "| rows = 0 | sums are 0 | `contract \\| rows = 0 \\| backward::b` |\n"
                       "| dx null | none | `contract \\| dx null \\| backward::b` |\n"));
  CHECK(error_of([&] {
          learn::contract_page(rows, {{"07_test", tests}});
        }) == "07_test has no test 'contract | dx null | backward::b', and contract.txt gives no reason; add either.");
  CHECK(error_of([&] {
          learn::contract_page(rows, {{"07_test", "contract | dx null | ln::b\n"}});
        }) == "07_test has the test 'contract | dx null | ln::b', but contract.txt has no row 'dx null'.");
  CHECK(error_of([&] {
          learn::contract_page(rows, {{"07_test", "contract | x | backward::b\n"}});
        }) == "07_test has the test 'contract | x | backward::b', but contract.txt has no backward row 'x'.");
}

TEST_CASE("a hole in the contract is an error") {
  const auto page = [](const std::string& list) {
    return error_of([&] { learn::contract_page(contract, {{"01_test", list}}); });
  };
  CHECK(page("contract | rows = 0 | ln::b\n") ==
        "01_test has no test 'contract | cols = 0 | ln::b', and contract.txt gives no reason; add either.");
  CHECK(page("contract | rows = 1 | ln::b\n") ==
        "01_test has the test 'contract | rows = 1 | ln::b', but contract.txt has no row 'rows = 1'.");
  CHECK(page("contract | rows = 0 | ln::b\ncontract | cols = 0 | ln::b\n") ==
        "contract.txt has a note on 'cols = 0' for copy::*, which is no cell of the matrix.");
  CHECK(error_of([] { learn::contract_page("row | a\n", {}); }) ==
        "common/testing/contract.txt:1: this line is neither a row with two fields nor a note with three.");
}

TEST_CASE("a child process: its output line by line, its exit code, a program that is not there") {
  std::vector<std::string> lines;
  const learn::Finished finished = learn::run({"/bin/sh", "-c", "echo a; echo b >&2; printf c; exit 3"},
                                              [&](const std::string& line) { lines.push_back(line); });
  CHECK(finished.exit_code == 3);
  CHECK(finished.output == "a\nb\nc");
  CHECK(lines == std::vector<std::string>{"a", "b", "c"});
  CHECK(learn::run({"/bin/sh", "-c", "kill -SEGV $$"}).exit_code == 128 + 11);
  CHECK(learn::run({"no_such_program"}).exit_code == 127);
  // Of an output that is too long the beginning and the end are kept.
  const std::string output = learn::run({"/bin/sh", "-c", "echo first; yes | head -c 40000000; echo last"}).output;
  CHECK(output.starts_with("first\n"));
  CHECK(output.ends_with("last\n"));
  CHECK(output.size() < 20'000'000);
}

namespace {

/// Whether the test of a task takes the task's file from the include path, and so from whoever's folder the build says.
bool includes_by_path(const std::string& source, const std::string& file) {
  return source.find("#include <" + file + ">") != std::string::npos &&
         source.find('"' + file + '"') == std::string::npos;
}

}  // namespace

TEST_CASE("an include with quotes, which would look beside the test and silently take the reader's file, is caught") {
  CHECK(includes_by_path("#include <1_passes.cuh>\n", "1_passes.cuh"));
  CHECK_FALSE(includes_by_path("#include \"1_passes.cuh\"\n", "1_passes.cuh"));
  for (const learn::Chapter& chapter : learn::chapters(LNH_SOURCE_DIR)) {
    for (const learn::Exercise& exercise : chapter.exercises) {
      for (const char* kind : {"_test.cu", "_benchmark.cu"}) {
        fs::path source = fs::path(LNH_SOURCE_DIR) / exercise.file;
        source.replace_filename(source.stem().string() + kind);
        if (!fs::exists(source)) continue;
        CHECK_MESSAGE(includes_by_path(learn::read_text(source), exercise.file.filename()), source.string());
      }
    }
  }
}

namespace {

/// Parses a command line as the program does; the message of the error, or nothing.
std::string parse(std::vector<std::string> words) {
  const learn::Place place{LNH_SOURCE_DIR, "/nonexistent"};
  std::function<learn::ExitCode()> command;
  CLI::App app;
  learn::add_commands(app, place, command);
  std::reverse(words.begin(), words.end());
  return error_of([&] {
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      throw std::runtime_error(learn::sentence(error));
    }
  });
}

}  // namespace

TEST_CASE("the command line is refused with a reason where it makes no sense") {
  CHECK(parse({"tour", "--rows", "8", "--cols", "64", "--json"}) == "");
  CHECK(parse({"check", "01.1", "-v"}) == "");
  CHECK(parse({"check"}).starts_with("./learn check needs the number of an exercise, for example 01.1;"));
  CHECK(parse({"profile"}).starts_with("./learn profile needs the number of a chapter or of an exercise"));
  CHECK(parse({"trace", "--svg", "a.svg"}).starts_with("./learn trace needs the number of a chapter"));
  CHECK(parse({"trace", "01"}).starts_with("./learn trace needs --svg FILE"));
  CHECK(parse({"chart", "forward"}) == "");
  CHECK(parse({"chart"}).starts_with("./learn chart needs the name of a chart: ladder, forward, rms_norm,"));
  CHECK(parse({"chart", "pie"}).ends_with("'pie' is none."));
  CHECK(
      parse({"chart", "forward", "--results", "/no/folder"}).starts_with("There is no folder /no/folder: --results "));
  CHECK(parse({"chart", "forward", "--svg", "/no/folder/a.svg"}).starts_with("There is no folder /no/folder for"));
  CHECK(parse({"check", "01.1", "--seed", "1", "--seeds", "2"}) == "--seed and --seeds cannot be given together.");
  CHECK(parse({"compare", "01.1", "--json", "--diff"}) == "--json and --diff cannot be given together.");
  CHECK(parse({"reset"}).starts_with("./learn reset needs the number of an exercise, for example 01.1;"));
  CHECK(parse({"check", "01.1", "--seeds"}) == "--seeds needs a value behind it.");
  CHECK(parse({"tour", "--rows", "0"}) == "--rows needs a number from 1 to 67108864 behind it, not '0'.");
  CHECK(parse({"tour", "--rows", "many"}).starts_with("--rows needs a number"));
  CHECK(parse({"check", "01.1", "--seed", "-1"}).starts_with("--seed needs a number from 0 to "));
  CHECK(parse({"tour", "--rows", "67108864", "--cols", "2"}).find("more than 67108864 elements") != std::string::npos);
  CHECK(parse({"tour", "--fast"}).find("--fast") != std::string::npos);
  CHECK(parse({"bake"}) != "");
}

TEST_CASE("a path is short, whether the compiler was told it in full or, as ccache tells it, from the build folder") {
  const learn::Place place{"/home/me/course", "/home/me/course/build/simt"};
  for (const char* told : {"/home/me/course/", "../../"}) {
    CAPTURE(told);
    CHECK(learn::with_short_paths(std::string(told) + "chapters/a.cu:1", place) == "chapters/a.cu:1");
  }
  for (const char* told : {LNH_SOURCE_DIR "/", "../../", "./../../"}) {
    CAPTURE(told);
    CHECK(simt::short_path(std::string(told) + "chapters/a.cu") == "chapters/a.cu");
  }
  CHECK(simt::short_path("/usr/include/math.h") == "/usr/include/math.h");
}

TEST_CASE("every command has a help text, and it tells every option") {
  const learn::Place place{LNH_SOURCE_DIR, "/nonexistent"};
  std::function<learn::ExitCode()> command;
  CLI::App app;
  learn::add_commands(app, place, command);
  const std::string overview = app.help();
  for (const CLI::App* sub : app.get_subcommands({})) {
    CAPTURE(sub->get_name());
    CHECK(overview.find("\n  " + sub->get_name()) != std::string::npos);
    const std::string help = sub->help();
    CHECK(help.starts_with("usage: ./learn " + sub->get_name()));
    for (const CLI::Option* option : sub->get_options()) {
      const std::string name = option->get_positional() ? "NN" : option->get_name();
      const bool for_the_script_alone = name == "--gpu-results" || name == "--help";
      CHECK_MESSAGE((for_the_script_alone || help.find(name) != std::string::npos), name);
    }
  }
}
