// The program on a small course: what it prints, and that it tells tests that see a mistake from those that do not.
#include "../mutants.h"

#include <learn/files.h>
#include <learn/process.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path fixture = fs::path(LNH_SOURCE_DIR) / "common/mutants/tests/course";

learn::Finished mutants_of_course(std::vector<std::string> arguments) {
  std::vector<std::string> command = {MUTANTS, "--course", fixture.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return learn::run(command);
}

/// A course of one exercise, 00.1, whose solution holds text, with these mutants.
class Course {
public:
  Course(const std::string& solution, const std::string& mutants) {
    std::string name = (fs::temp_directory_path() / "mutants_test_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    learn::write_text(folder_ / "solutions/00_sum/1_sum.cuh", solution);
    learn::write_text(folder_ / "exercises/00_sum/1_sum_test.cu", "");
    learn::write_text(folder_ / "exercises/00_sum/mutants.json", mutants);
  }
  ~Course() { fs::remove_all(folder_); }
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;
  const fs::path& folder() const { return folder_; }

private:
  fs::path folder_;
};

std::string entry(const std::string& replace) {
  return R"({"task": "1_sum", "name": "wrong", "mistake": "a mistake", "replace": ")" + replace + R"(", "with": "x"})";
}

/// The sentence with which a course is refused; "" if it is not.
std::string refusal(const Course& course) {
  try {
    mutants::mutants_of(course.folder(), {});
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace

TEST_SUITE("long") {
  TEST_CASE("mutants that a test rejects are told with the test case, the finding or the hang") {
    const learn::Finished finished = mutants_of_course({"00.1", "--limit", "5"});
    const std::string& output = finished.output;
    CHECK(output.find("00.1 first_half_only                     rejected by the sum of 64 ones | is 64\n") !=
          std::string::npos);
    CHECK(output.find("00.1 no_barrier                          rejected by zeros have the sum 0 (init: ") !=
          std::string::npos);
    CHECK(output.find("00.1 starts_at_one                       rejected by zeros have the sum 0\n") !=
          std::string::npos);
    CHECK(output.find("00.1 never_ends                          rejected by a hang, stopped after 5 seconds\n") !=
          std::string::npos);
    CHECK(output.ends_with("\n5 of 5 mutants rejected\n"));
    CHECK(finished.exit_code == 0);
  }

  TEST_CASE("a mutant that survives or does not compile fails the program, with a sentence") {
    const learn::Finished finished = mutants_of_course({"00.2"});
    const std::string& output = finished.output;
    CHECK(output.find("00.2 first_half_only                     survived\n"
                      "  mutants_fixture_2 passes with it. Add a test to the exercise that sees this mistake: the "
                      "second half of the values is lost.\n") != std::string::npos);
    CHECK(output.find("00.2 does_not_compile                    survived\n"
                      "  It does not compile, so it says nothing about the test.") != std::string::npos);
    CHECK(output.ends_with("\n3 of 5 mutants rejected\n"));
    CHECK(finished.exit_code == 1);
  }
}

TEST_CASE("an exercise that is not there is told in a sentence") {
  const learn::Finished finished = mutants_of_course({"00.7"});
  CHECK(finished.output == "There is no exercise and no chapter 00.7 with tests; name them as 01.2 or 01.\n");
  CHECK(finished.exit_code == 2);
}

TEST_CASE("the page is written for all exercises alone") {
  const learn::Finished finished = mutants_of_course({"--page", "00.1"});
  CHECK(finished.output == "docs/mutants.md holds the mutants of all exercises; write --page without naming any.\n");
  CHECK(finished.exit_code == 2);
}

TEST_CASE("a mutant whose text does not occur exactly once no longer applies, and is named") {
  const std::string none = refusal({"a b", "[" + entry("c") + "]"});
  CHECK(none.starts_with("The mutant 00.1 wrong no longer applies: its text to be replaced occurs 0 times"));
  CHECK(none.ends_with("The text is:\nc"));
  CHECK(refusal({"a b a", "[" + entry("a") + "]"}).find("occurs 2 times") != std::string::npos);
  CHECK(refusal({"aaa", "[" + entry("aa") + "]"}).find("occurs 2 times") != std::string::npos);
  CHECK(refusal({"a", "[" + entry("") + "]"}).find("no longer applies") != std::string::npos);
}

TEST_CASE("a list that cannot be read is told with its file") {
  CHECK(refusal({"a", "[{\"task\": \"1_sum\"}]"}).find("mutants.json cannot be read: ") != std::string::npos);
  CHECK(refusal({"a", "["}).find("mutants.json cannot be read: ") != std::string::npos);
}

TEST_CASE("an exercise has at least five mutants") {
  const std::string four = entry("a") + "," + entry("a") + "," + entry("a") + "," + entry("a");
  CHECK(refusal({"a b", "[" + four + "]"}).starts_with("The exercise 00.1 has 4 mutants and must have at least 5."));
  CHECK(refusal({"a b", "[" + four + "," + entry("b") + "]"}) == "");
  CHECK(refusal({"a b", "[]"}).find("has 0 mutants") != std::string::npos);
}

TEST_CASE("a mutant is the solution with the wrong text in place of the right one") {
  const std::vector<mutants::Mutant> mutants = mutants::mutants_of(fixture, {"00.1"});
  REQUIRE(mutants.size() == 5);
  CHECK(mutants[0].exercise == "00.1");
  CHECK(mutants[0].name == "first_half_only");
  const std::string solution = learn::read_text(mutants[0].solution);
  CHECK(mutants[0].text.size() == solution.size());
  CHECK(mutants[0].text.find("i < 32") == solution.find("i < 64"));
  CHECK(mutants::mutants_of(fixture, {}).size() == 10);
  CHECK(mutants::mutants_of(fixture, {"00"}).size() == 10);
}

TEST_CASE("the test case that failed first is the one above the first error") {
  CHECK(mutants::first_failure("TEST CASE:  one\n\na.cu:1: MESSAGE: all is well\n=====\nTEST CASE:  REFERENCE: two\n\n"
                               "a.cu:5: ERROR: CHECK( a ) is NOT correct!\nTEST CASE:  three\na.cu:9: ERROR: x\n") ==
        "two");
  CHECK(mutants::first_failure("TEST CASE:  one\n\na.cu:3: FATAL ERROR: no\n") == "one");
  CHECK(mutants::first_failure("[doctest] all is well\n") == "");
}

TEST_CASE("the page has a table for each exercise, and no bar in a cell") {
  const std::vector<mutants::Mutant> mutants = mutants::mutants_of(fixture, {"00.1"});
  const std::string page = mutants::page(mutants, std::vector<mutants::Verdict>(5, {"a | b", ""}));
  CHECK(page.find("\n## Exercise 00.1\n\n| mutant | the mistake | rejected by |\n") != std::string::npos);
  CHECK(page.find("| `first_half_only` | the second half of the values is lost | a \\| b |\n") != std::string::npos);
}
