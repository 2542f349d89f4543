/// Tables of stored measurements, for the READMEs.
#pragma once

#include <string>

namespace learn {

/// The Markdown table of a benchmark's stored JSON (docs/results/CARD/NN_name_benchmark.json), with a line that names
/// card, driver, toolkit and date. Throws std::runtime_error for a JSON that was not measured on a GPU.
std::string results_table(const std::string& json);

}  // namespace learn
