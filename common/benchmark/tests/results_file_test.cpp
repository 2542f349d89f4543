// The file of a run: it goes on from what is there, and takes nothing that was measured on something else.
#include <benchmark/results_file.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

using benchmarking::ResultsFile;
namespace fs = std::filesystem;

namespace {

class Folder {
public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "results_file_test_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path file() const { return path_ / "results.json"; }

private:
  fs::path path_;
};

nlohmann::ordered_json stored_in(const fs::path& file) {
  std::ifstream in(file);
  return nlohmann::ordered_json::parse(in);
}

std::string refusal(const fs::path& file, const std::map<std::string, std::string>& context) {
  try {
    const ResultsFile results(file, context);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("each measurement is in the file as soon as it is added, behind the context") {
  const Folder folder;
  ResultsFile results(folder.file(), {{"card", "a card"}});
  CHECK_FALSE(fs::exists(folder.file()));
  results.add({{"name", "a"}, {"median_ms", 2.0}});
  CHECK(stored_in(folder.file()).at("context").at("card") == "a card");
  CHECK(stored_in(folder.file()).at("benchmarks").size() == 1);
  results.add({{"name", "b"}, {"median_ms", 3.0}});
  CHECK(stored_in(folder.file()).at("benchmarks").at(1).at("median_ms") == 3.0);
  results.note("clocks at the end", "1980 MHz");
  CHECK(stored_in(folder.file()).at("context").at("clocks at the end") == "1980 MHz");
}

TEST_CASE("a second run goes on from the first: what failed there is measured again, in its place") {
  const Folder folder;
  {
    ResultsFile first(folder.file(), {{"card", "a card"}});
    first.add({{"name", "a"}, {"wrong", "Element 0 of y was not written."}});
    first.add({{"name", "b"}, {"median_ms", 3.0}});
    first.note("clocks at the begin", "345 MHz");
  }
  const auto date = stored_in(folder.file()).at("context").at("date");
  ResultsFile second(folder.file(), {{"card", "a card"}});
  CHECK(second.size() == 2);
  CHECK_FALSE(second.holds("a"));
  CHECK(second.holds("b"));
  CHECK_FALSE(second.holds("c"));
  second.add({{"name", "a"}, {"median_ms", 1.0}});
  CHECK(second.holds("a"));
  const auto stored = stored_in(folder.file());
  REQUIRE(stored.at("benchmarks").size() == 2);
  CHECK(stored.at("benchmarks").at(0) == nlohmann::ordered_json{{"name", "a"}, {"median_ms", 1.0}});
  CHECK(stored.at("context").at("date") == date);
}

TEST_CASE("measurements of another card or commit are refused, and stay as they are") {
  const Folder folder;
  ResultsFile(folder.file(), {{"card", "a card"}, {"commit", "1"}}).add({{"name", "a"}});
  const auto before = stored_in(folder.file());
  CHECK(refusal(folder.file(), {{"card", "a card"}, {"commit", "1"}}) == "");
  CHECK(refusal(folder.file(), {{"card", "another"}, {"commit", "1"}})
            .ends_with("results.json holds measurements with another card: a card there, another here. Move it away, "
                       "or keep the new ones in another folder."));
  CHECK(refusal(folder.file(), {{"card", "a card"}, {"commit", "2"}}).find("another commit: 1 there, 2 here") !=
        std::string::npos);
  CHECK(stored_in(folder.file()) == before);
}

TEST_CASE("a file that holds something else is refused with its name") {
  const Folder folder;
  for (const char* text : {"", "{", "7", R"({"context": {"card": "a card"}})",
                           R"({"context": {"card": "a card"}, "benchmarks": [{"median_ms": 1}]})"}) {
    std::ofstream(folder.file()) << text;
    CHECK_MESSAGE(
        refusal(folder.file(), {{"card", "a card"}}).find("results.json holds no measurements") != std::string::npos,
        text);
  }
}

TEST_CASE("a file that cannot be written is told") {
  ResultsFile results("/nonexistent/results.json", {});
  CHECK_THROWS_WITH(results.add({{"name", "a"}}), "/nonexistent/results.json.new cannot be written; is the disk full?");
}
