/// What kernels are tested on: shapes × kinds of data × seeds, and rows that failed in public projects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace testing {

struct NormCase {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<float> x;      // [rows][cols]
  std::vector<float> gamma;  // [cols] or empty
  std::vector<float> beta;   // [cols] or empty
  float eps = 1e-5f;
};

/// Kinds of rows, each a function of its seed. Hidden states of language models have a mean near 0 and a few huge
/// coordinates (Dettmers et al. 2022, LLM.int8(); Xiao et al. 2023, SmoothQuant; Sun et al. 2024, Massive Activations);
/// what a cancelling variance cannot stand is an offset. γ is random in [−2, 2), β in [−1, 1).
enum class Data {
  centred,        // N(0, 0.3²)
  channels,       // as centred, 6 fixed coordinates ×20 or ×100
  massive,        // N(0, 0.2²) with −2600 and 1500 at two fixed coordinates
  massive_first,  // as massive, with the outlier at x[0]
  offset_10,      // mean/σ = 10, 100, …
  offset_100,
  offset_1000,
  offset_10000,
  constant,
  zero,
  one_off,  // all 256 and a last 255
};
const char* name(Data data);
std::vector<Data> all_data();

NormCase make_case(std::int64_t rows, std::int64_t cols, Data data, std::uint64_t seed);

/// Bit patterns, not numbers: a copy must keep −0, denormals and the payload of a NaN.
std::vector<float> random_bits(std::int64_t count, std::uint64_t seed);

/// The default grid for a kernel: enough shapes to meet every tail and block boundary, every kind of data, random gamma
/// and beta.
std::vector<NormCase> standard_cases();
/// Rows from public bug reports, literal or rebuilt from their description: data/published_cases.csv.
std::vector<NormCase> published_cases();
/// Short rows on which E[x²]−E[x]² is negative or wrong by more than 10× in each of 30 orders of the sums:
/// data/traps.csv. They must convict the cancelling kernels of the course. An order that is not among the 30 may be
/// luckier.
std::vector<NormCase> trap_cases();
/// Those of them on which no order is luckier, nor another way to write the formula: they convict whatever computes
/// E[x²]−E[x]² in binary32.
std::vector<NormCase> every_order_trap_cases();

}  // namespace testing
