#include <learn/stage.h>

#include <host/device_buffer.h>
#include <testing/run.h>

#include <map>

namespace learn {
namespace {

/// By chapter, so that the order in which object files are linked does not matter.
std::map<std::string, std::vector<Stage>>& registry() {
  static std::map<std::string, std::vector<Stage>> stages;
  return stages;
}

}  // namespace

Stage::Stage(std::string kernel, CopyLauncher launcher) : kernel(std::move(kernel)), launcher(launcher) {}

Stage::Stage(std::string kernel, NormLauncher launcher, testing::SummationOf summation)
    : kernel(std::move(kernel)), launcher(launcher), summation(summation) {}

Stage::Stage(std::string kernel, NormBackwardLauncher launcher, testing::BackwardSummationOf summation)
    : kernel(std::move(kernel)), launcher(launcher), backward_summation(summation) {}

Stages::Stages(const std::string& chapter, std::vector<Stage> stages) {
  for (Stage& stage : stages) {
    stage.chapter = chapter;
    registry()[chapter].push_back(std::move(stage));
  }
}

void run(const Stage& stage, const testing::NormCase& input) {
  if (const auto* norm = std::get_if<NormLauncher>(&stage.launcher)) {
    testing::run(*norm, input);
    return;
  }
  if (const auto* backward = std::get_if<NormBackwardLauncher>(&stage.launcher)) {
    testing::run_backward(*backward, testing::make_backward_case(backward->norm(), input, 1));
    return;
  }
  const auto count = static_cast<std::int64_t>(input.x.size());
  const DeviceBuffer<float> x("x", input.x), y("y", count);
  std::get<CopyLauncher>(stage.launcher)({x.data(), y.data(), count}, nullptr);
  y.check_guards();
}

std::vector<Stage> all_stages() {
  std::vector<Stage> all;
  for (const auto& [chapter, stages] : registry()) all.insert(all.end(), stages.begin(), stages.end());
  return all;
}

}  // namespace learn
