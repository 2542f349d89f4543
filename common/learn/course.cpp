#include <learn/course.h>

#include <fmt/format.h>
#include <learn/exit_codes.h>
#include <learn/files.h>
#include <learn/marks.h>

#include <algorithm>
#include <regex>

namespace learn {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of_file(const fs::path& file) {
  return fs::exists(file) ? lines_of(read_text(file)) : std::vector<std::string>{};
}

/// "# 01 Three pass" -> "Three pass"; the folder's name where there is no README yet.
std::string title_of(const std::vector<std::string>& readme, const std::string& folder) {
  static const std::regex heading(R"(^# (?:\d\d[ .:–—]+)?(.*\S)\s*$)");
  std::smatch found;
  for (const std::string& line : readme) {
    if (std::regex_match(line, found, heading)) return found[1];
  }
  std::string name = folder.substr(3);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// The first sentence of the first paragraph of plain text.
std::string first_sentence(const std::vector<std::string>& readme) {
  std::string paragraph;
  for (const std::string& line : readme) {
    const bool is_text = !line.empty() && std::string("#<>|`![-*").find(line[0]) == std::string::npos;
    if (is_text) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    } else if (!paragraph.empty()) {
      break;
    }
  }
  const std::size_t end = paragraph.find(". ");
  return end == std::string::npos ? paragraph : paragraph.substr(0, end + 1);
}

/// The heading of task K: "## 1 …", "## 01.1 …", "## 01.1 Title (write)".
std::string task_title(const std::vector<std::string>& readme, const std::string& number, const std::string& k,
                       const std::string& task) {
  const std::regex heading(fmt::format(R"(^##+ (?:Exercise )?(?:{}\.)?{}(?:[.:–— ]+)(.*\S)\s*$)", number, k));
  std::smatch found;
  for (const std::string& line : readme) {
    if (std::regex_match(line, found, heading)) return found[1];
  }
  std::string name = task.substr(k.size() + 1);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::vector<Exercise> exercises_of(const fs::path& root, const std::string& chapter) {
  const fs::path folder = root / "exercises" / chapter;
  std::vector<Exercise> exercises;
  if (!fs::exists(folder)) return exercises;
  const std::vector<std::string> readme = lines_of_file(folder / "README.md");
  const std::string number = chapter.substr(0, 2);
  static const std::regex test_name(R"((([0-9]+)_.*)_test\.cu)");
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    std::smatch found;
    if (!std::regex_match(name, found, test_name)) continue;
    const std::string task = found[1], k = found[2];
    const std::string source = task + ".cuh";
    exercises.push_back({number + "." + k, number + "_" + k, task_title(readme, number, k, task),
                         fs::path("exercises") / chapter / source, fs::path("solutions") / chapter / source});
  }
  // A reading exercise is a heading, and no file: "## 04.4 Title (read)".
  const std::regex reading(fmt::format(R"(^## ({}\.(\d+)) (.*\S \(read\))\s*$)", number));
  for (const std::string& line : readme) {
    std::smatch found;
    if (!std::regex_match(line, found, reading)) continue;
    exercises.push_back({found[1], number + "_" + found[2].str(), found[3],
                         fs::path("exercises") / chapter / "README.md", fs::path("solutions") / chapter / "README.md",
                         true});
  }
  std::sort(exercises.begin(), exercises.end(),
            [](const Exercise& a, const Exercise& b) { return std::stoi(a.id.substr(3)) < std::stoi(b.id.substr(3)); });
  return exercises;
}

}  // namespace

std::vector<Chapter> chapters(const fs::path& root) {
  static const std::regex entry(R"(^\s*add_chapter\((\d\d)_(\w+)\).*)");
  std::vector<Chapter> result;
  for (const std::string& line : lines_of(read_text(root / "chapters/CMakeLists.txt"))) {
    std::smatch found;
    if (!std::regex_match(line, found, entry)) continue;
    const std::string number = found[1], name = number + "_" + found[2].str();
    if (!fs::exists(root / "chapters" / name)) {
      throw std::runtime_error("chapters/CMakeLists.txt lists " + name + ", but there is no such folder in chapters/.");
    }
    const std::vector<std::string> readme = lines_of_file(root / "chapters" / name / "README.md");
    result.push_back({name, number, title_of(readme, name), first_sentence(readme), exercises_of(root, name)});
  }
  return result;
}

Chapter find_chapter(const std::vector<Chapter>& chapters, const std::string& number) {
  const std::string wanted = number.size() == 1 ? "0" + number : number;
  std::vector<std::string> all;
  for (const Chapter& chapter : chapters) {
    if (chapter.number == wanted) return chapter;
    all.push_back(chapter.number);
  }
  throw UsageError(
      fmt::format("There is no chapter '{}'. The chapters are {}; ./learn list shows them with their titles.", number,
                  fmt::join(all, ", ")));
}

Exercise find_exercise(const std::vector<Chapter>& chapters, const std::string& id) {
  static const std::regex form(R"(^(\d\d?)\.(\d+)$)");
  std::smatch found;
  if (!std::regex_match(id, found, form)) {
    throw UsageError(
        fmt::format("'{}' is no exercise: an exercise is named by chapter and number, for example 01.2.", id));
  }
  const std::string number = fmt::format("{:02}", std::stoi(found[1])), wanted = number + "." + found[2].str();
  std::vector<std::string> in_chapter, all;
  bool chapter_exists = false;
  for (const Chapter& chapter : chapters) {
    chapter_exists = chapter_exists || chapter.number == number;
    for (const Exercise& exercise : chapter.exercises) {
      if (exercise.id == wanted) return exercise;
      if (chapter.number == number) in_chapter.push_back(exercise.id);
      all.push_back(exercise.id);
    }
  }
  const std::string problem = chapter_exists
                                  ? fmt::format("There is no exercise {} in chapter {}.", wanted, number)
                                  : fmt::format("There is no chapter {}, so there is no exercise {}.", number, wanted);
  const std::vector<std::string>& choice = in_chapter.empty() ? all : in_chapter;
  throw UsageError(fmt::format("{} The exercises of {} are {}; ./learn list shows them with their titles.", problem,
                               in_chapter.empty() ? "this course" : "that chapter", fmt::join(choice, ", ")));
}

std::string reading_note(const Exercise& exercise) {
  return fmt::format(
      "{0} is a reading exercise: there is no code of yours to check. The questions are in {1}, under {0}. "
      "Write down your answers, then compare them: ./learn solve {0} --show.",
      exercise.id, exercise.file.string());
}

}  // namespace learn
