#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>
#include <learn/hints.h>
#include <learn/progress.h>
#include <learn/text.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace learn {
namespace {

Progress progress_of(const std::map<std::string, Progress>& all, const Exercise& exercise) {
  const auto entry = all.find(exercise.id);
  return entry == all.end() ? Progress{} : entry->second;
}

/// "passed 2 d ago", "tried 5 min ago", or nothing.
std::string state(const Progress& progress, Time time) {
  if (progress.passed) return "passed " + since(*progress.passed, time);
  return progress.checked ? "tried " + since(*progress.checked, time) : "";
}

void print_json(const std::vector<Chapter>& course, const std::map<std::string, Progress>& all) {
  auto exercises = nlohmann::ordered_json::array();
  const auto seconds = [](const std::optional<Time>& time) {
    return time ? nlohmann::ordered_json(time->time_since_epoch().count()) : nlohmann::ordered_json();
  };
  for (const Chapter& chapter : course) {
    for (const Exercise& exercise : chapter.exercises) {
      const Progress progress = progress_of(all, exercise);
      exercises.push_back({{"exercise", exercise.id},
                           {"title", exercise.title},
                           {"chapter", chapter.name},
                           {"file", exercise.file.string()},
                           {"passed", progress.passed.has_value()},
                           {"passed_at", seconds(progress.passed)},
                           {"checked_at", seconds(progress.checked)},
                           {"checks", progress.checks},
                           {"hints", progress.hints}});
    }
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"exercises", exercises}}.dump(2));
}

}  // namespace

ExitCode list(const Place& place, const ListOptions& options) {
  const std::vector<Chapter> course = chapters(place.root);
  const std::map<std::string, Progress> all = read_progress(place.root);
  if (options.json) {
    print_json(course, all);
    return success;
  }
  const Time time = now();
  std::size_t exercises = 0, passed = 0, width = 0;
  for (const Chapter& chapter : course) {
    for (const Exercise& exercise : chapter.exercises) width = std::max(width, columns_of(exercise.title));
  }
  for (const Chapter& chapter : course) {
    fmt::print("{} {}: chapters/{}/README.md\n", chapter.number, chapter.title, chapter.name);
    for (const Exercise& exercise : chapter.exercises) {
      const Progress progress = progress_of(all, exercise);
      ++exercises;
      passed += progress.passed ? 1 : 0;
      const std::string padding(width - columns_of(exercise.title), ' ');
      const std::string hints =
          progress.hints > 0 ? fmt::format("{}/{} hints", progress.hints, hints_of(place.root, exercise).size()) : "";
      std::string line =
          fmt::format("   {} {}{}  {:<16} {}", exercise.id, exercise.title, padding, state(progress, time), hints);
      line.erase(line.find_last_not_of(' ') + 1);
      fmt::print("{}\n", line);
    }
  }
  fmt::print("\n{} of {} exercises passed. ./learn next names the next one, and its file.\n", passed, exercises);
  return success;
}

ExitCode next(const Place& place) {
  const std::vector<Chapter> course = chapters(place.root);
  const std::map<std::string, Progress> all = read_progress(place.root);
  for (const Chapter& chapter : course) {
    for (const Exercise& exercise : chapter.exercises) {
      const Progress progress = progress_of(all, exercise);
      if (progress.passed) continue;
      const std::string tasks = (exercise.file.parent_path() / "README.md").string();
      fmt::print("Next is {}: {}\n\n  the chapter  chapters/{}/README.md\n  the task     {}, under {}\n", exercise.id,
                 exercise.title, chapter.name, tasks, exercise.id);
      if (exercise.reading) {
        fmt::print("  when done    ./learn solve {} --show\n", exercise.id);
      } else {
        fmt::print(
            "  your file    {}\n  then         ./learn check {}, or ./learn watch {} to have every save checked\n",
            exercise.file.string(), exercise.id, exercise.id);
      }
      return success;
    }
  }
  fmt::print("Every exercise is passed. ./learn list shows when; ./learn tour runs the course's own kernels.\n");
  return success;
}

}  // namespace learn
