// The program on a small course: what it prints, and that it tells tests that see a mistake from those that do not.
#include "../mutants.h"

#include <learn/files.h>
#include <learn/process.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
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
  TEST_CASE("mutants that a test kills are told with the test case, the finding or the hang") {
    const learn::Finished finished = mutants_of_course({"00.1", "--limit", "5"});
    const std::string& output = finished.output;
    const auto says = [&](const std::string& text) { CHECK_MESSAGE(output.find(text) != std::string::npos, output); };
    says("00.1  first_half_only                   -\n      the sum of 64 ones | is 64\n");
    says("00.1  no_barrier                        -\n      zeros have the sum 0 (init: ");
    says("00.1  starts_at_one                     -\n      zeros have the sum 0\n");
    says("00.1  never_ends                        -\n      a hang, stopped after 5 seconds\n");
    says("\n5 of 5 mutants killed; 0 of 0 with an oracle diagnosed by name, 0 wrongly\n");
    CHECK(finished.exit_code == 0);
  }

  TEST_CASE("a mutant that survives or does not compile fails the program, with a sentence") {
    const learn::Finished finished = mutants_of_course({"00.2"});
    const std::string& output = finished.output;
    const auto says = [&](const std::string& text) { CHECK_MESSAGE(output.find(text) != std::string::npos, output); };
    says("00.2  first_half_only                   -\n      SURVIVED\n"
         "      mutants_fixture_2 passes with it. Add a test to the exercise that sees\n"
         "      this mistake: the second half of the values is lost.\n");
    says("00.2  does_not_compile                  -\n      SURVIVED\n"
         "      It does not compile, so it says nothing about the test.");
    says("\n3 of 5 mutants killed; 0 of 0 with an oracle diagnosed by name, 0 wrongly\n");
    CHECK(finished.exit_code == 1);
  }

  TEST_CASE("with --json there is nothing but JSON, of a list from elsewhere as well") {
    const Course course("", "[]");
    const fs::path list = course.folder() / "list.json";
    learn::write_text(course.folder() / "wrong.cuh", learn::read_text(fixture / "solutions/00_sum/1_sum.cuh"));
    learn::write_text(list, R"({"mutants": [{"exercise": "00.1", "mutant": "right", "source": "wrong.cuh"}]})");
    const learn::Finished finished = mutants_of_course({"--file", list.string(), "--json"});
    const auto json = nlohmann::json::parse(finished.output);
    const auto expected = nlohmann::json::parse(R"({"mutants": [{"exercise": "00.1", "mutant": "right", "killed": false,
                                                  "killed_by": null, "oracle": null, "diagnosis": null}]})");
    CHECK(json == expected);
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

TEST_CASE("a sample is for the check of the page alone") {
  const learn::Finished finished = mutants_of_course({"--sample", "4"});
  CHECK(finished.output == "--sample is for --check-page alone.\n");
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
  CHECK(refusal({"a", "["}).find("mutants.json cannot be read: ") != std::string::npos);
  CHECK(refusal({"a", "7"})
            .ends_with("mutants.json holds no list of mutants; it must be [ … ] or {\"mutants\": [ … ]}."));
}

TEST_CASE("a malformed entry is told with its number and what is wrong with it") {
  const auto is_refused = [](const std::string& entry, const std::string& because) {
    const std::string sentence = refusal({"a b", "[" + entry + "]"});
    CHECK(sentence.starts_with("Entry 1 of "));
    CHECK_MESSAGE(sentence.ends_with("mutants.json " + because), sentence);
  };
  is_refused("5", "is no object of the form {\"task\": …, \"name\": …, …}.");
  is_refused(R"({"name": "x"})", "has no \"task\" and no \"exercise\".");
  is_refused(R"({"task": 1})", "has a \"task\" that is no text.");
  is_refused(R"({"task": "2_sum", "name": "x"})",
             "is for the exercise 2_sum, which is not there; name it as 04.1, as 1_warp_reduce or as "
             "04_warp_block_welford/1_warp_reduce.");
  is_refused(R"({"task": "1_sum"})", "has no \"name\" and no \"mutant\".");
  is_refused(R"({"task": "1_sum", "name": "x", "oracle": "bad_luck"})",
             "has the oracle bad_luck, and no mistake in common/testing/diagnosis.cpp has that name.");
  is_refused(R"({"task": "1_sum", "name": "x", "replace": "a"})",
             "says neither by \"replace\" and \"with\" nor by \"source\" what its mistake looks like.");
  is_refused(R"({"task": "1_sum", "name": "x", "source": "a.cuh", "with": "a"})",
             "has a \"source\", which is a whole file, and \"replace\" or \"with\" as well; leave out one of the two.");
  const std::string no_file = refusal({"a", R"([{"task": "1_sum", "name": "x", "source": "none.cuh"}])"});
  CHECK(no_file.find("none.cuh") != std::string::npos);
}

TEST_CASE("a list from elsewhere names exercises in three ways, and may be short") {
  const Course course("", "[]");
  const fs::path list = course.folder() / "list.json";
  learn::write_text(course.folder() / "whole.cuh", "all of it");
  for (const char* task : {"1_sum", "00_sum/1_sum", "00.1"}) {
    learn::write_text(list, std::string(R"({"mutants": [{"exercise": ")") + task +
                                R"(", "mutant": "x", "source": "whole.cuh", "oracle": "eps_missing"}]})");
    const std::vector<mutants::Mutant> mutants = mutants::mutants_in_file(list, fixture, {});
    REQUIRE(mutants.size() == 1);
    CHECK(mutants[0].exercise == "00.1");
    CHECK(mutants[0].name == "x");
    CHECK(mutants[0].oracle == "eps_missing");
    CHECK(mutants[0].mistake == "");
    CHECK(mutants[0].text == "all of it");
    CHECK(mutants[0].solution == fixture / "solutions/00_sum/1_sum.cuh");
    CHECK(mutants::mutants_in_file(list, fixture, {"00.2"}).empty());
  }
}

TEST_CASE("a diagnosis is right where it names the oracle, and wrong where it names something else alone") {
  using mutants::Diagnosis;
  const auto judged = [](const std::string& oracle, std::vector<std::string> named) {
    const mutants::Mutant mutant{
        .exercise = "00.1", .name = "x", .mistake = "", .oracle = oracle, .solution = "", .text = ""};
    return mutants::diagnosis_of(mutant, {"a test", "", std::move(named)});
  };
  CHECK(judged("a", {"a"}) == Diagnosis::right);
  CHECK(judged("a", {"b", "a"}) == Diagnosis::right);
  CHECK(judged("a", {"b"}) == Diagnosis::wrong);
  CHECK(judged("", {"b"}) == Diagnosis::wrong);
  CHECK(judged("a", {}) == Diagnosis::missed);
  CHECK(judged("", {}) == Diagnosis::none_asked);
}

TEST_CASE("all is well if all are killed, none is diagnosed wrongly, and nine in ten are diagnosed") {
  const std::vector<mutants::Mutant> ten(
      10, {.exercise = "00.1", .name = "x", .mistake = "", .oracle = "a", .solution = "", .text = ""});
  std::vector<mutants::Verdict> verdicts(10, {"a test", "", {"a"}});
  CHECK(mutants::all_is_well(ten, verdicts));
  verdicts[0].diagnosis.clear();
  CHECK(mutants::all_is_well(ten, verdicts));
  verdicts[1].diagnosis.clear();
  CHECK_FALSE(mutants::all_is_well(ten, verdicts));
  verdicts[1].diagnosis = {"b"};
  CHECK_FALSE(mutants::all_is_well(ten, verdicts));
  verdicts[1] = {"", "It survived.", {}};
  verdicts[0].diagnosis = {"a"};
  CHECK_FALSE(mutants::all_is_well(ten, verdicts));
}

TEST_CASE("the mistakes that a test named are in its lines, each once") {
  CHECK(mutants::named_mistakes("a.cu:5: ERROR: CHECK( a )\n  logged: wrong\nlikely mistake: N − 1 (not N) stands here "
                                "(variance_over_n_minus_1); read a/README.md, Idea (and more)\n"
                                "likely mistake: eps (eps_missing); read a/README.md, Idea\n"
                                "likely mistake: eps (eps_missing); read a/README.md, Idea\n") ==
        std::vector<std::string>{"variance_over_n_minus_1", "eps_missing"});
  CHECK(mutants::named_mistakes("no known mistake fits\n").empty());
}

TEST_CASE("no line of the matrix is wider than 80 columns") {
  const mutants::Mutant mutant{
      .exercise = "00.1", .name = "x", .mistake = "", .oracle = "a", .solution = "", .text = ""};
  const std::string words = "γ and β are words of one letter each, and there are many more words in this sentence, too";
  for (const mutants::Verdict& verdict : {mutants::Verdict{words, "", {"a", "b"}}, mutants::Verdict{"", words, {}}}) {
    std::istringstream lines(mutants::matrix_entry(mutant, verdict));
    for (std::string line; std::getline(lines, line);) {
      CHECK(std::count_if(line.begin(), line.end(), [](char byte) { return (byte & 0xC0) != 0x80; }) <= 80);
    }
  }
  CHECK(mutants::matrix_entry(mutant, {"a test", "", {"b"}}) ==
        "00.1  x                                 WRONG b, is a\n      a test\n");
  CHECK(mutants::matrix_entry(mutant, {"a test", "", {}}) ==
        "00.1  x                                 MISSED a\n      a test\n");
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
  const std::string page =
      mutants::page(mutants, std::vector<mutants::Verdict>(5, {"a | b", "", {"x", "y"}}), {{"00.1", "7"}});
  CHECK(page.find("\n## Exercise 00.1\n\nJudged with `7`.\n\n| mutant | the mistake | killed by | diagnosis |\n") !=
        std::string::npos);
  CHECK(page.find("| `first_half_only` | the second half of the values is lost | a \\| b | `x` or `y` |\n") !=
        std::string::npos);
}

TEST_CASE("a page says again what it was written from") {
  const std::vector<mutants::Mutant> mutants = mutants::mutants_of(fixture, {});
  std::vector<mutants::Verdict> verdicts(10, {"a | b (race: c)", "", {"x", "y"}});
  verdicts[3] = {"d", "", {}};
  const mutants::Digests digests{{"00.1", "0123456789abcdef"}, {"00.2", "fedcba9876543210"}};
  const std::string page = mutants::page(mutants, verdicts, digests);
  const std::vector<mutants::Verdict> read = mutants::verdicts_on(page, mutants);
  REQUIRE(read.size() == 10);
  CHECK(mutants::digests_on(page) == digests);
  CHECK(mutants::page(mutants, read, digests) == page);
  CHECK(read[0].killed_by == "a | b (race: c)");
  CHECK(read[0].diagnosis == std::vector<std::string>{"x", "y"});
  CHECK(read[3].diagnosis.empty());
  CHECK(mutants::verdicts_on("", mutants)[9].killed_by.empty());
  CHECK(mutants::digests_on("").empty());
}

TEST_CASE("an exercise's digest depends on its mutants, its test's files and the libraries, and on nothing else") {
  const Course course("int a;", "");
  const fs::path root = course.folder(), solution = root / "solutions/00_sum/1_sum.cuh", header = root / "header.h",
                 library = root / "common/simt/a.cpp";
  learn::write_text(header, "1");
  learn::write_text(library, "1");
  for (const char* name : {"host", "testing"}) fs::create_directories(root / "common" / name);
  rebuild::Test test;
  test.objects.push_back({"", "", {solution, header}});
  std::vector<mutants::Mutant> mutants{
      {.exercise = "00.1", .name = "x", .mistake = "", .oracle = "", .solution = solution, .text = "int b;"}};
  const auto digest = [&] { return mutants::digests_of(mutants, {test}, root).at("00.1"); };
  std::set<std::string> seen{digest()};
  const auto is_new = [&] { return seen.insert(digest()).second; };
  CHECK_FALSE(is_new());
  learn::write_text(header, "2");
  CHECK(is_new());
  learn::write_text(library, "2");
  CHECK(is_new());
  learn::write_text(solution, "int c;");
  CHECK(is_new());
  mutants[0].oracle = "eps_missing";
  CHECK(is_new());
  mutants[0].text = "int d;";
  CHECK(is_new());
  learn::write_text(root / "common/simt/tests/a_test.cpp", "2");
  learn::write_text(root / "common/simt/README.md", "2");
  CHECK_FALSE(is_new());
}

TEST_CASE("of an exercise that was judged with the same sources one in n is tried, others with each digest; else all") {
  const std::vector<mutants::Mutant> mutants = mutants::mutants_of(fixture, {});
  std::set<std::size_t> tried;
  for (const char* first : {"0", "1", "2", "3", "4"}) {
    const mutants::Digests digests{{"00.1", first}, {"00.2", "8"}};
    const std::vector<std::size_t> sample = mutants::sample_of(mutants, digests, digests, 5);
    REQUIRE(sample.size() == 2);
    CHECK(sample[1] == 5 + 8 % 5);
    tried.insert(sample[0]);
    CHECK(mutants::sample_of(mutants, digests, digests, 1).size() == 10);
    CHECK(mutants::sample_of(mutants, digests, {}, 5).size() == 10);
    CHECK(mutants::sample_of(mutants, digests, {{"00.1", first}, {"00.2", "9"}}, 5).size() == 1 + 5);
  }
  CHECK(tried == std::set<std::size_t>{0, 1, 2, 3, 4});
}
