#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/course.h>
#include <learn/files.h>
#include <learn/picture.h>
#include <learn/stage.h>
#include <simt/executor.h>
#include <simt/trace.h>
#include <testing/cases.h>

namespace learn {
namespace {

// The tour's rows, so that the picture shows what the tour counts.
constexpr std::int64_t rows = 256, cols = 4096;
constexpr std::uint64_t seed = 1;

/// The chapter's stages whose kernel is called NAME or …::NAME; all of them if NAME is empty.
std::vector<Stage> find_stages(const Chapter& chapter, const std::string& name) {
  std::vector<Stage> found;
  std::string names;
  for (const Stage& stage : all_stages()) {
    if (stage.chapter != chapter.name) continue;
    names += (names.empty() ? "" : ", ") + stage.kernel;
    if (name.empty() || stage.kernel == name || stage.kernel.ends_with("::" + name)) found.push_back(stage);
  }
  if (names.empty())
    throw UsageError(fmt::format("Chapter {} has no kernels, so there is nothing to draw.", chapter.number));
  if (found.empty())
    throw UsageError(fmt::format("Chapter {} has no kernel '{}'; its kernels are {}.", chapter.number, name, names));
  return found;
}

}  // namespace

ExitCode trace(const Place& place, const TraceOptions& options) {
  const std::vector<Stage> stages = find_stages(find_chapter(chapters(place.root), options.chapter), options.kernel);
  const testing::NormCase input = testing::make_case(rows, cols, testing::Data::centred, seed);
  const simt::TraceScope scope({.requests = options.requests});
  {
    const simt::LaunchWindow traced_block(scope.options().block, 1);
    for (const Stage& stage : stages) run(stage, input);
  }
  const std::string svg = picture(scope.launches(), options.warp, place.root);
  try {
    write_text(options.svg, svg);
  } catch (const std::exception& error) {
    throw UsageError(error.what());
  }
  fmt::print("Wrote {}: warp {} of block 0, {}, on {} rows of {} floats.\n", options.svg, options.warp,
             stages.size() == 1 ? stages.front().kernel : fmt::format("{} kernels", stages.size()), rows, cols);
  return success;
}

}  // namespace learn
