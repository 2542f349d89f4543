/// The reader's progress: its file, what is noted, and that nothing is lost.
#include "error_of.h"

#include <doctest/doctest.h>
#include <learn/commands.h>
#include <learn/exit_codes.h>
#include <learn/files.h>
#include <learn/hints.h>
#include <learn/progress.h>
#include <learn/text.h>

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <thread>

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

/// A course of one exercise in a folder of its own.
struct SmallCourse {
  fs::path root = fs::temp_directory_path() / ("progress_test_" + std::to_string(getpid()));
  fs::path file = root / "exercises/01_sum/1_sum.cuh";
  learn::Place place{root, root / "build"};

  SmallCourse() {
    fs::remove_all(root);
    learn::write_text(root / "chapters/CMakeLists.txt", "add_chapter(01_sum)\n");
    learn::write_text(root / "chapters/01_sum/README.md", "# 01 The sum\n\nAdd.\n");
    learn::write_text(
        root / "exercises/01_sum/README.md",
        "# Exercises\n\n## 01.1 The sum (write)\n\nText.\n\n<details>\n<summary>Hint 1 of 2: the idea</summary>\n\n"
        "Add.\n\n</details>\n\n<details>\n<summary>Hint 2 of 2: nearly the code</summary>\n\n```cpp\na + b\n```\n\n"
        "</details>\n\n## 01.2 Another (read)\n\nLook.\n");
    learn::write_text(root / "exercises/01_sum/1_sum_test.cu", "");
    learn::write_text(root / "solutions/01_sum/1_sum.cuh",
                      "before\n// [solution] add\nreturn a + b;\n// [/solution]\n");
    learn::write_text(root / "solutions/01_sum/README.md", "# Solutions\n\n## 01.2 Another\n\nThe answer.\n");
    learn::write_text(file, "my work\n");
  }
  ~SmallCourse() { fs::remove_all(root); }
  std::string progress() const { return learn::read_text(root / "progress.txt"); }
};

constexpr const char* stub_text = "before\n// TODO: add\n";

/// What a command reads while this lives.
class Input {
public:
  explicit Input(const std::string& text) : file_(tmpfile()), before_(dup(STDIN_FILENO)) {
    std::fputs(text.c_str(), file_);
    std::rewind(file_);
    dup2(fileno(file_), STDIN_FILENO);
    std::clearerr(stdin);
    std::cin.clear();
  }
  ~Input() {
    dup2(before_, STDIN_FILENO);
    close(before_);
    std::fclose(file_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

private:
  FILE* file_;
  int before_;
};

}  // namespace

TEST_CASE("progress is what was noted, and a line that cannot be understood stops everything") {
  const SmallCourse course;
  CHECK(learn::read_progress(course.root).empty());
  const learn::Time time = learn::Time(1700000000s);  // 2023-11-14 22:13:20 UTC
  learn::change_progress(course.root, "01.1", [&](learn::Progress& progress) { progress.checked_now(false, time); });
  learn::change_progress(course.root, "01.1",
                         [&](learn::Progress& progress) { progress.checked_now(true, time + 60s); });
  learn::change_progress(course.root, "01.1",
                         [&](learn::Progress& progress) { progress.checked_now(true, time + 90s); });
  learn::change_progress(course.root, "00.1", [&](learn::Progress& progress) { progress.hints = 2; });
  CHECK(course.progress().ends_with("\n00.1  hints=2\n01.1  checks=3  checked=2023-11-14T22:14:50Z  "
                                    "passed=2023-11-14T22:14:20Z\n"));
  const auto all = learn::read_progress(course.root);
  CHECK(all.at("01.1").checks == 3);
  CHECK(all.at("01.1").passed == time + 60s);
  CHECK(all.at("00.1").hints == 2);
  CHECK_FALSE(all.at("00.1").passed);

  for (const char* line : {"01.1  checks=many", "01.1  passed=yesterday", "1.1", "01.1  colour=red", "hello"}) {
    CAPTURE(line);
    const std::string text = "# head\n01.2  hints=1\n" + std::string(line) + "\n";
    learn::write_text(course.root / "progress.txt", text);
    const std::string error = error_of([&] { learn::change_progress(course.root, "01.1", [](learn::Progress&) {}); });
    CHECK(error.starts_with("progress.txt:3: this line cannot be understood"));
    CHECK(course.progress() == text);
  }
}

TEST_CASE("a note changes its own line alone") {
  const SmallCourse course;
  learn::write_text(course.root / "progress.txt", "# mine\n01.2  hints=1\n\n# and this\n02.1  checks=1\n");
  const auto seen = [](learn::Progress& progress) { progress.hints = 3; };
  for (const char* exercise : {"01.2", "01.1", "02.2"}) learn::change_progress(course.root, exercise, seen);
  CHECK(course.progress() == "# mine\n01.1  hints=3\n01.2  hints=3\n\n# and this\n02.1  checks=1\n02.2  hints=3\n");
}

TEST_CASE("two commands at the same time lose no note") {
  const SmallCourse course;
  const auto note = [&] {
    for (int i = 0; i < 50; ++i)
      learn::change_progress(course.root, "01.1", [](learn::Progress& progress) { ++progress.checks; });
  };
  std::thread other(note);
  note();
  other.join();
  CHECK(learn::read_progress(course.root).at("01.1").checks == 100);
}

TEST_CASE("progress that cannot be written is told, and nothing is left behind") {
  const SmallCourse course;
  fs::create_directory(course.root / "progress.txt.new");  // where the new text is written first
  CHECK(error_of([&] {
          learn::change_progress(course.root, "01.1", [](learn::Progress& progress) { progress.hints = 1; });
        }).starts_with("Your progress could not be kept. The file "));
  CHECK_FALSE(fs::exists(course.root / "progress.txt"));
}

TEST_CASE("how long ago it was") {
  const learn::Time time = learn::Time(1700000000s);
  CHECK(learn::since(time, time + 59s) == "just now");
  CHECK(learn::since(time, time + 60s) == "1 min ago");
  CHECK(learn::since(time, time + 59min) == "59 min ago");
  CHECK(learn::since(time, time + 23h) == "23 h ago");
  CHECK(learn::since(time, time + 48h) == "2 d ago");
  CHECK(learn::since(time, time - 48h) == "just now");  // a clock that was set back
}

TEST_CASE("reset changes a file after a yes alone, and keeps what was there, whatever was kept before") {
  const SmallCourse course;
  for (const char* answer : {"", "n\n", "\n", "no\n"}) {
    const Input input(answer);
    CHECK(learn::reset(course.place, {.exercise = "01.1"}) == learn::failure);
    CHECK(learn::read_text(course.file) == "my work\n");
    CHECK_FALSE(fs::exists(course.file.string() + ".bak"));
  }
  {
    const Input input("y\n");
    CHECK(learn::reset(course.place, {.exercise = "01.1"}) == learn::success);
  }
  CHECK(learn::read_text(course.file) == stub_text);
  CHECK(learn::read_text(course.file.string() + ".bak") == "my work\n");
  CHECK(learn::reset(course.place, {.exercise = "01.1"}) == learn::success);  // nothing to ask: it is the stub
  learn::write_text(course.file, "more work\n");
  CHECK(learn::reset(course.place, {.exercise = "01.1", .yes = true}) == learn::success);
  CHECK(learn::read_text(course.file.string() + ".bak") == "my work\n");
  CHECK(learn::read_text(course.file.string() + ".bak2") == "more work\n");
  fs::remove(course.file);
  CHECK(learn::reset(course.place, {.exercise = "01.1"}) == learn::success);  // nothing to lose
  CHECK(learn::read_text(course.file) == stub_text);
}

TEST_CASE("what is saved while reset waits for its answer is kept") {
  const SmallCourse course;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const int before = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  std::clearerr(stdin);
  std::cin.clear();
  std::thread reader([&] {
    std::this_thread::sleep_for(200ms);  // the question stands
    learn::write_text(course.file, "saved meanwhile\n");
    CHECK(write(ends[1], "y\n", 2) == 2);
  });
  CHECK(learn::reset(course.place, {.exercise = "01.1"}) == learn::success);
  reader.join();
  CHECK(learn::read_text(course.file.string() + ".bak") == "saved meanwhile\n");
  CHECK(learn::read_text(course.file) == stub_text);
  dup2(before, STDIN_FILENO);
  for (const int descriptor : {before, ends[0], ends[1]}) close(descriptor);
}

TEST_CASE("reset that cannot keep the file leaves it alone") {
  const SmallCourse course;
  fs::create_directory(course.file.string() + ".bak.new");
  CHECK(error_of([&] {
          learn::reset(course.place, {.exercise = "01.1", .yes = true});
        }).ends_with("Nothing was changed."));
  CHECK(learn::read_text(course.file) == "my work\n");
}

TEST_CASE("an exercise that is reset is not passed any more") {
  const SmallCourse course;
  learn::change_progress(course.root, "01.1",
                         [](learn::Progress& progress) { progress.checked_now(true, learn::now()); });
  learn::reset(course.place, {.exercise = "01.1", .yes = true});
  CHECK_FALSE(learn::read_progress(course.root).at("01.1").passed);
}

TEST_CASE("solve shows the reference after a yes, and puts it into the file only where that is asked for") {
  const SmallCourse course;
  {
    const Input input("n\n");
    CHECK(learn::solve(course.place, {.exercise = "01.1", .show = true}) == learn::failure);
    CHECK_FALSE(fs::exists(course.root / "progress.txt"));
  }
  {
    const Input input("y\n");
    CHECK(learn::solve(course.place, {.exercise = "01.1", .show = true}) == learn::success);
  }
  CHECK(learn::read_text(course.file) == "my work\n");
  CHECK(learn::read_progress(course.root).at("01.1").solution);
  CHECK_FALSE(learn::read_progress(course.root).at("01.1").passed);
  CHECK(learn::solve(course.place, {.exercise = "01.1", .yes = true}) == learn::success);
  CHECK(learn::read_text(course.file) == learn::read_text(course.root / "solutions/01_sum/1_sum.cuh"));
  CHECK(learn::read_text(course.file.string() + ".bak") == "my work\n");
  // Whoever has seen the answers of a reading exercise is through with it.
  CHECK(learn::solve(course.place, {.exercise = "01.2", .show = true, .yes = true}) == learn::success);
  CHECK(learn::read_progress(course.root).at("01.2").passed);
}

TEST_CASE("hints are counted in the file and in the progress") {
  const SmallCourse course;
  const auto seen = [&] { return learn::read_progress(course.root)["01.1"].hints; };
  for (const int expected : {1, 2, 2}) {
    CHECK(learn::hint(course.place, {.exercise = "01.1"}) == learn::success);
    CHECK(seen() == expected);
  }
  const std::string summary = "<summary>Hint 1 of 2: a</summary>\ntext\n</details>\n";
  CHECK(error_of([&] { learn::hints_in(summary, "README.md"); }) ==
        "README.md: an exercise announces 2 hints and has 1.");
  CHECK(error_of([&] { learn::hints_in(summary + summary, "README.md"); }) ==
        "README.md: '<summary>Hint 1 of 2: a</summary>' is hint 2 of its exercise.");
}

TEST_CASE("every exercise of the course has three hints: the idea, the place, nearly the code") {
  for (const learn::Chapter& chapter : learn::chapters(LNH_SOURCE_DIR)) {
    for (const learn::Exercise& exercise : chapter.exercises) {
      if (exercise.reading) continue;
      CAPTURE(exercise.id);
      const std::vector<learn::Hint> hints = learn::hints_of(LNH_SOURCE_DIR, exercise);
      REQUIRE(hints.size() == 3);
      CHECK(hints[0].title == "the idea");
      CHECK(hints[1].title == "the place");
      CHECK(hints[2].title == "nearly the code");
      for (const learn::Hint& hint : hints) CHECK_FALSE(hint.text.empty());
    }
  }
}

TEST_CASE("text for a terminal is broken between words, by columns and not by bytes") {
  CHECK(learn::wrapped("short", 2, 10) == "short");
  CHECK(learn::wrapped("  one two three four", 2, 12) == "  one two\n    three\n    four");
  CHECK(learn::wrapped("γ · x̂ γγγγγ", 0, 11) == "γ · x̂ γγγγγ");
  CHECK(learn::wrapped("aaaaaaaaaaaaaaaa b", 0, 5) == "aaaaaaaaaaaaaaaa\nb");
  CHECK(learn::plain_text("text\n\n```cpp\nif (a)\n  b;\n```\n") == "text\n\n    if (a)\n      b;\n");
}

TEST_CASE("a line that is too long is cut behind a whole character") {
  CHECK(learn::shortened("abc", 3) == "abc");
  CHECK(learn::shortened("abcd", 3) == "ab…");
  CHECK(learn::shortened("αβx̂y", 4) == "αβx̂y");
  CHECK(learn::shortened("αβx̂yz", 4) == "αβx̂…");
  CHECK(learn::shortened("", 3).empty());
}
