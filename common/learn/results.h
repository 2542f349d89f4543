/// Tables of stored measurements, for the READMEs.
#pragma once

#include <string>
#include <vector>

namespace learn {

/// The Markdown table of a benchmark's stored JSON (docs/results/CARD/NN_name_benchmark.json), with a line that names
/// card, driver, toolkit and date. What failed, and so has no time, is left out. Throws std::runtime_error for a JSON
/// that was not measured on a GPU.
std::string results_table(const std::string& json);

/// The same measurements as fractions of a copy: a line for each kernel of these files, a column for each number of
/// columns, the largest of each column in bold. Cold L2 only. Throws std::runtime_error if there is nothing to show.
std::string fractions_table(const std::vector<std::string>& jsons);

/// That table with the course's kernels alone, chapter::kernel, without what a chapter tries out beside them.
std::string ladder_table(const std::vector<std::string>& jsons);

}  // namespace learn
