#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>
#include <learn/exercise_program.h>
#include <learn/files.h>
#include <learn/marks.h>
#include <learn/process.h>
#include <learn/profile_table.h>
#include <learn/stage.h>
#include <simt/finding.h>
#include <testing/cases.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace learn {
namespace {

constexpr std::uint64_t seed = 1;

/// Lines of the course's files, each file read once.
SourceLines source_lines(const Place& place) {
  auto files = std::make_shared<std::map<std::string, std::vector<std::string>>>();
  return [place, files](const std::string& file, int line) -> std::string {
    const auto [entry, is_new] = files->try_emplace(file);
    const std::filesystem::path path = place.root / file;
    if (is_new && std::filesystem::exists(path)) entry->second = lines_of(read_text(path));
    if (line < 1 || static_cast<std::size_t>(line) > entry->second.size()) return "";
    const std::string& text = entry->second[static_cast<std::size_t>(line) - 1];
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
  };
}

/// head, the kernels, the legend; or all of it as one JSON object, whose first fields are head's.
void print(const Place& place, bool json, const std::string& head, nlohmann::ordered_json object,
           const std::vector<simt::KernelProfile>& kernels) {
  const SourceLines source = source_lines(place);
  if (json) {
    object["kernels"] = nlohmann::ordered_json::array();
    for (const simt::KernelProfile& kernel : kernels) object["kernels"].push_back(profile_json(kernel, source));
    fmt::print("{}\n", with_short_paths(object.dump(2), place));
    return;
  }
  std::string text = head;
  for (const simt::KernelProfile& kernel : kernels) text += "\n" + profile_text(kernel, source);
  fmt::print("{}", with_short_paths(text + "\n" + profile_legend(), place));
}

ExitCode profile_chapter(const Place& place, const ProfileOptions& options) {
  const Chapter chapter = find_chapter(chapters(place.root), options.subject);
  const testing::NormCase input = testing::make_case(options.rows, options.cols, testing::Data::centred, seed);
  const simt::FindingScope findings;
  std::vector<simt::KernelProfile> kernels;
  for (const Stage& stage : all_stages()) {
    if (stage.chapter != chapter.name) continue;
    const simt::ProfileScope profile;
    run(stage, input);
    kernels.insert(kernels.end(), profile.kernels().begin(), profile.kernels().end());
  }
  print(place, options.json,
        fmt::format("The kernels of chapter {} on {} rows of {} floats, as the CPU executor counts them.\n"
                    "Of each kernel, the lines with the most needless sectors or wavefronts come first.\n",
                    chapter.number, options.rows, options.cols),
        {{"backend", "simt"}, {"chapter", chapter.name}, {"rows", options.rows}, {"cols", options.cols}}, kernels);
  if (findings.findings().empty()) return success;
  fmt::print(stderr, "\n{}", findings.text());
  return failure;
}

ExitCode profile_exercise(const Place& place, const ProfileOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.subject);
  const ExerciseProgram program = build_exercise(place, exercise, options.pristine);
  if (!program.built) {
    fmt::print(stderr, "{}{}", heading(exercise, program.verdict.subject), text(program.verdict, place.root, false));
    return program.verdict.outcome == Outcome::could_not_build ? bad_machine : failure;
  }
  const OwnFile file(place.build, "profile");
  const bool passes = run(test_command(program, {"SIMT_PROFILE=" + file.path().string()})).exit_code == 0;
  const std::string counted = file.text();
  const std::vector<simt::KernelProfile> kernels =
      counted.empty() ? std::vector<simt::KernelProfile>{} : simt::read_profile(counted);
  if (kernels.empty()) {
    fmt::print(stderr, "YOUR CODE launched no kernel that could be counted; ./learn check {} says more.\n",
               exercise.id);
    return failure;
  }
  print(place, options.json,
        fmt::format("Exercise {}: {}\nYOUR CODE: {}\n\n"
                    "Of each kernel that its test launches, the launch that asked for the most bytes, as the CPU\n"
                    "executor counts it. The lines with the most needless sectors or wavefronts come first.\n{}",
                    exercise.id, exercise.title, exercise.file.string(),
                    passes ? ""
                           : fmt::format("The test does not pass yet, so these may be the counts of a wrong kernel: "
                                         "./learn check {}\n",
                                         exercise.id)),
        {{"backend", "simt"}, {"exercise", exercise.id}, {"passes", passes}}, kernels);
  return success;
}

}  // namespace

ExitCode profile(const Place& place, const ProfileOptions& options) {
  const bool is_exercise = options.subject.find('.') != std::string::npos;
  return is_exercise ? profile_exercise(place, options) : profile_chapter(place, options);
}

}  // namespace learn
