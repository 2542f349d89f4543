#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>

#include <algorithm>

namespace learn {

ExitCode list(const Place& place) {
  const std::vector<Chapter> course = chapters(place.root);
  std::size_t width = 0;  // bytes: enough for every title, as no character takes more columns than bytes
  for (const Chapter& chapter : course) {
    width = std::max(width, chapter.title.size());
    for (const Exercise& exercise : chapter.exercises) width = std::max(width, exercise.title.size() + 5);
  }
  for (const Chapter& chapter : course) {
    fmt::print("{} {:<{}} chapters/{}/README.md\n", chapter.number, chapter.title, width, chapter.name);
    for (const Exercise& exercise : chapter.exercises) {
      fmt::print("   {} {:<{}} {}\n", exercise.id, exercise.title, width - 5, exercise.file.string());
    }
  }
  fmt::print("\nRead a chapter, edit the file of an exercise, then run ./learn check with its number.\n");
  return success;
}

}  // namespace learn
