#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>
#include <learn/ladder.h>

#include <algorithm>

namespace learn {
namespace {

void print_next_step(const std::vector<Chapter>& course) {
  for (const Chapter& chapter : course) {
    if (chapter.exercises.empty()) continue;
    const Exercise& first = chapter.exercises.front();
    fmt::print("Next: read chapters/{}/README.md, edit {}, then run ./learn check {}.\n", chapter.name,
               first.file.string(), first.id);
    return;
  }
}

}  // namespace

ExitCode tour(const Place& place, const TourOptions& options) {
  std::vector<Rung> ladder;
  for (const Stage& stage : all_stages()) ladder.push_back(measure(stage, options.rows, options.cols));
  std::string card;
  if (!options.gpu_results.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(options.gpu_results)) {
      if (entry.path().extension() != ".json") continue;
      const Measurements results = stored_measurements(entry.path());
      add_speeds(ladder, results);
      card = results.card;
    }
  }
  if (options.json) {
    fmt::print("{}", ladder_json(ladder, options.rows, options.cols));
  } else {
    fmt::print("{}\n", ladder_text(ladder, options.rows, options.cols, options.verbose));
    const std::string speeds = speed_text(ladder, card);
    if (!speeds.empty()) fmt::print("{}\n", speeds);
    print_next_step(chapters(place.root));
  }
  // A kernel that is wrong on the hard row may be a chapter's point; a kernel with a finding is a defect.
  const bool clean = std::all_of(ladder.begin(), ladder.end(), [](const Rung& rung) { return rung.findings.empty(); });
  return clean ? success : failure;
}

}  // namespace learn
