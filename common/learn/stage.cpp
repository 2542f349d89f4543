#include <learn/stage.h>

#include <map>

namespace learn {
namespace {

/// By chapter, so that the order in which object files are linked does not matter.
std::map<std::string, std::vector<Stage>>& registry() {
  static std::map<std::string, std::vector<Stage>> stages;
  return stages;
}

}  // namespace

Stage::Stage(std::string kernel, CopyLauncher launcher)
    : kernel(std::move(kernel)), launcher(launcher), summation(nullptr) {}

Stage::Stage(std::string kernel, LayerNormLauncher launcher, testing::SummationOf summation)
    : kernel(std::move(kernel)), launcher(launcher), summation(summation) {}

Stages::Stages(const std::string& chapter, std::vector<Stage> stages) {
  for (Stage& stage : stages) {
    stage.chapter = chapter;
    registry()[chapter].push_back(std::move(stage));
  }
}

std::vector<Stage> all_stages() {
  std::vector<Stage> all;
  for (const auto& [chapter, stages] : registry()) all.insert(all.end(), stages.begin(), stages.end());
  return all;
}

}  // namespace learn
