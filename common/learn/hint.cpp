#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/files.h>
#include <learn/hints.h>
#include <learn/marks.h>
#include <learn/progress.h>
#include <learn/text.h>

#include <algorithm>
#include <regex>

namespace learn {

std::string section_of(const std::string& markdown, const std::string& exercise) {
  std::string section;
  bool inside = false, in_code = false;
  for (const std::string& line : lines_of(markdown)) {
    if (line.starts_with("```")) in_code = !in_code;
    if (!in_code && line.starts_with("## ")) inside = line.starts_with("## " + exercise + " ");
    if (inside) section += line + "\n";
  }
  return section;
}

std::vector<Hint> hints_in(const std::string& section, const std::string& file) {
  static const std::regex summary(R"(^<summary>Hint (\d+) of (\d+): (.*)</summary>$)");
  std::vector<Hint> hints;
  bool inside = false;
  std::size_t announced = 0;
  for (const std::string& line : lines_of(section)) {
    std::smatch found;
    if (std::regex_match(line, found, summary)) {
      inside = true;
      announced = std::stoul(found[2]);
      hints.push_back({found[3], ""});
      if (std::stoul(found[1]) != hints.size()) {
        throw std::runtime_error(fmt::format("{}: '{}' is hint {} of its exercise.", file, line, hints.size()));
      }
    } else if (line == "</details>") {
      inside = false;
    } else if (inside) {
      hints.back().text += line + "\n";
    }
  }
  if (announced != hints.size()) {
    throw std::runtime_error(
        fmt::format("{}: an exercise announces {} hints and has {}.", file, announced, hints.size()));
  }
  for (Hint& hint : hints) {
    hint.text.erase(0, hint.text.find_first_not_of('\n'));
    hint.text.erase(hint.text.find_last_not_of('\n') + 1);
  }
  return hints;
}

std::vector<Hint> hints_of(const std::filesystem::path& root, const Exercise& exercise) {
  const std::filesystem::path readme = exercise.file.parent_path() / "README.md";
  return hints_in(section_of(read_text(root / readme), exercise.id), readme.string());
}

ExitCode hint(const Place& place, const HintOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.exercise);
  if (exercise.reading) throw UsageError(reading_note(exercise));
  const std::vector<Hint> hints = hints_of(place.root, exercise);
  const int levels = static_cast<int>(hints.size());
  const auto print = [&](int level) {
    const Hint& shown = hints[static_cast<std::size_t>(level)];
    fmt::print("Hint {} of {}: {}\n\n{}\n", level + 1, levels, shown.title, plain_text(shown.text));
  };
  const auto before = read_progress(place.root);
  const auto entry = before.find(exercise.id);
  const int seen = entry == before.end() ? 0 : std::min(entry->second.hints, levels);

  fmt::print("Exercise {}: {}\n\n", exercise.id, exercise.title);
  if (seen == levels) {
    for (int level = 0; level < levels; ++level) print(level);
    fmt::print("These are all. ./learn solve {} --show shows the reference.\n", exercise.id);
    return success;
  }
  print(seen);
  fmt::print("{}\n", seen + 1 < levels
                         ? fmt::format("./learn hint {} again shows the next one.", exercise.id)
                         : fmt::format("That was the last one; ./learn hint {} again shows all of them.", exercise.id));
  std::fflush(stdout);
  change_progress(place.root, exercise.id, [&](Progress& progress) { progress.hints = seen + 1; });
  return success;
}

}  // namespace learn
