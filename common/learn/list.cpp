#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>

namespace learn {

ExitCode list(const Place& place) {
  for (const Chapter& chapter : chapters(place.root)) {
    fmt::print("{} {:<44} chapters/{}/README.md\n", chapter.number, chapter.title, chapter.name);
    for (const Exercise& exercise : chapter.exercises) {
      fmt::print("   {} {:<39} {}\n", exercise.id, exercise.title, exercise.file.string());
    }
  }
  fmt::print("\nRead a chapter, edit the file of an exercise, then run ./learn check with its number.\n");
  return success;
}

}  // namespace learn
