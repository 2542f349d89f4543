#include <learn/check.h>

#include <fmt/format.h>
#include <learn/exercise_program.h>
#include <learn/gpu.h>
#include <learn/progress.h>
#include <learn/text.h>

#include <nlohmann/json.hpp>

#include <cstdio>

namespace learn {
std::string with_short_paths(std::string text, const Place& place) {
  text = replaced(text, (place.build / "stubs/").string(), "exercises/");
  text = replaced(text, place.root.string() + "/", "");
  text = replaced(text, place.root.lexically_relative(place.build).string() + "/", "");  // as ccache names it: "../../"
  return replaced(text, place.build.lexically_relative(place.root).string() + "/stubs/", "exercises/");
}

Verdict judge(const Place& place, const Exercise& exercise, const CheckOptions& options) {
  if (!options.json) fmt::print("{}", heading(exercise, options.pristine ? "STUB" : "YOUR CODE"));
  std::fflush(stdout);  // compiling takes seconds
  return options.gpu ? judge_on_gpu(place, exercise, options) : judge_exercise(place, exercise, options);
}

void tell(const Verdict& verdict, const Place& place, const CheckOptions& options) {
  if (options.json) {
    fmt::print("{}\n", json_line(verdict, place.root));
  } else {
    fmt::print("{}", text(verdict, place.root, options.verbose));
  }
  std::fflush(stdout);
  if (!options.pristine && verdict.outcome != Outcome::could_not_build) {
    change_progress(place.root, verdict.exercise,
                    [&](Progress& progress) { progress.checked_now(verdict.passed(), now()); });
  }
}

ExitCode check(const Place& place, const CheckOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.exercise);
  if (exercise.reading) {
    if (options.json) {
      fmt::print("{}\n", nlohmann::ordered_json{{"exercise", exercise.id},
                                                {"title", exercise.title},
                                                {"file", exercise.file.string()},
                                                {"verdict", "nothing_to_check"},
                                                {"sentence", reading_note(exercise)}}
                             .dump());
    } else {
      fmt::print("Exercise {}: {}\n\n{}\n", exercise.id, exercise.title, wrapped(reading_note(exercise)));
    }
    return success;
  }
  const Verdict verdict = judge(place, exercise, options);
  tell(verdict, place, options);
  if (verdict.outcome == Outcome::could_not_build) return bad_machine;
  return verdict.passed() ? success : failure;
}

}  // namespace learn
