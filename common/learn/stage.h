/// What a chapter offers to ./learn tour: its kernels, each a rung of the ladder.
///
/// chapters/NN_name/stages.cu, compiled with the executor's hooks and linked into the program learn, holds
///
///   static const learn::Stages stages{"01_three_pass",
///                                     {{"three_pass::layer_norm", three_pass::layer_norm,
///                                     testing::block_per_row<256>}}};
#pragma once

#include <host/copy.h>
#include <host/norm_launcher.h>
#include <testing/tolerance.h>

#include <string>
#include <variant>
#include <vector>

namespace learn {

struct Stage {
  std::string kernel;  // the launcher's name, as in docs/contract.md and in the benchmarks
  std::variant<CopyLauncher, NormLauncher> launcher;
  testing::SummationOf summation;  // how the kernel adds up a row; null for a copy
  std::string chapter;             // filled in by Stages

  Stage(std::string kernel, CopyLauncher launcher);
  Stage(std::string kernel, NormLauncher launcher, testing::SummationOf summation);
};

/// Adds a chapter's kernels to the tour when the program starts.
class Stages {
public:
  Stages(const std::string& chapter, std::vector<Stage> stages);
};

/// Launches a stage once on the rows of a case. Throws what its launcher throws, and where it wrote what it must not.
void run(const Stage& stage, const testing::NormCase& input);

/// The kernels of all chapters, in the chapters' order.
std::vector<Stage> all_stages();

}  // namespace learn
