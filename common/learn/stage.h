/// What a chapter offers to ./learn tour, and to programs in other languages (benchmark/course_kernels.h): its kernels,
/// each a rung of the ladder.
///
/// chapters/NN_name/stages.cu, compiled as kernels are and linked into all that links `stages`, holds
///
///   static const learn::Stages stages{"01_three_pass",
///                                     {{"three_pass::layer_norm", three_pass::layer_norm,
///                                     testing::block_per_row<256>}}};
#pragma once

#include <host/copy.h>
#include <host/norm_backward.h>
#include <host/norm_launcher.h>
#include <testing/backward.h>
#include <testing/tolerance.h>

#include <string>
#include <variant>
#include <vector>

namespace learn {

struct Stage {
  std::string kernel;  // the launcher's name, as in docs/contract.md and in the benchmarks
  std::variant<CopyLauncher, NormLauncher, NormBackwardLauncher> launcher;
  testing::SummationOf summation = nullptr;                   // how a forward adds up a row
  testing::BackwardSummationOf backward_summation = nullptr;  // how a backward adds up rows and columns
  std::string chapter = {};                                   // filled in by Stages

  Stage(std::string kernel, CopyLauncher launcher);
  Stage(std::string kernel, NormLauncher launcher, testing::SummationOf summation);
  Stage(std::string kernel, NormBackwardLauncher launcher, testing::BackwardSummationOf summation);
};

/// Adds a chapter's kernels to the tour when the program starts.
class Stages {
public:
  Stages(const std::string& chapter, std::vector<Stage> stages);
};

/// Launches a stage once on the rows of a case, a backward with a random dy. Throws what its launcher throws, and where
/// it wrote what it must not.
void run(const Stage& stage, const testing::NormCase& input);

/// The kernels of all chapters, in the chapters' order.
std::vector<Stage> all_stages();

}  // namespace learn
