#include <testing/diagnosis.h>

#include <testing/fit.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace testing {
namespace {

constexpr std::string_view chapter_01 = "chapters/01_three_pass/README.md",
                           chapter_02 = "chapters/02_one_pass/README.md", chapter_03 = "chapters/03_welford/README.md",
                           chapter_04 = "chapters/04_warp_block_welford/README.md",
                           chapter_05 = "chapters/05_fused_layer_norm/README.md",
                           chapter_06 = "chapters/06_rms_norm/README.md", chapter_07 = "chapters/07_backward/README.md",
                           exercises_03 = "exercises/03_welford/README.md";

// clang-format off
constexpr Mistake catalogue[] = {
    // What stands under the root
    {"variance_over_n_minus_1", "the variance is divided by N − 1, not by N", chapter_01, "Idea"},
    {"sums_not_divided", "a sum over the row is not divided by N", chapter_01, "Idea"},
    {"eps_outside_the_root", "eps is added to the root, not under it", chapter_01, "Idea"},
    {"eps_missing", "eps is missing under the root", chapter_01, "Idea"},
    {"eps_added_to_n", "eps is added to N, not to the variance", chapter_01, "Idea"},
    {"no_root", "the row is divided by its variance, not by the root of it", chapter_01, "Idea"},
    {"one_pass_cancellation", "the variance is the difference of two large numbers, E[x²] − E[x]², and cancels", chapter_02, "What it shows"},
    {"shift_forgotten", "x is shifted, and the square of the shifted mean is not subtracted", chapter_02, "Repairs"},
    {"mean_not_shifted_back", "x is shifted, and its mean is not shifted back", chapter_02, "Repairs"},
    {"mean_not_squared", "the mean is subtracted from the mean of the squares without being squared", chapter_02, "Idea"},
    {"square_of_the_sum", "the square of the sum is subtracted, not the square of the mean", chapter_02, "Idea"},
    {"unshifted_mean_squared", "x is shifted, and the square of the mean of x itself is subtracted", chapter_02, "Repairs"},
    {"squares_not_shifted", "the squares are those of x, not of the shifted x", chapter_02, "Repairs"},
    // Which columns are counted
    {"zero_padded_lanes", "the row is filled up with zeros, and they are counted", chapter_04, "A block"},
    {"tail_dropped", "the last columns of a row are left out of its sums", chapter_05, "Kernel"},
    {"tail_not_written", "the last elements of a row are not written", chapter_05, "Kernel"},
    {"warp_lost", "the part of one warp is left out of the row's sums", chapter_04, "A block"},
    {"first_warp_only", "only the part of the first warp is counted", chapter_04, "A block"},
    {"own_warp_only", "each warp takes its own part for that of the row", chapter_04, "A block"},
    {"step_lost", "a step of the reduction is missing, so half of the values are left out", chapter_04, "A warp"},
    {"sum_for_thread_0_only", "only thread 0 is given the result", chapter_01, "Kernel"},
    {"counted_twice", "some values are counted more than once", chapter_05, "Kernel"},
    {"four_counts_as_one", "four values are merged as if they were one", chapter_05, "Kernel"},
    {"m2_of_fours_missing", "the squared deviations within each four are left out", chapter_05, "Kernel"},
    {"fours_in_another_order", "the floats of a four are not in the order in which they lie in memory", chapter_05, "Kernel"},
    // Which row, and which output
    {"row_off_by_one", "a neighbouring row is taken for the row", chapter_01, "Kernel"},
    {"never_written", "an output that is asked for is not written", chapter_01, "Kernel"},
    {"all_zeros", "the result is 0 everywhere", chapter_01, "Idea"},
    {"variance_for_rstd", "what stands under the root is handed out as rstd", chapter_01, "Idea"},
    // From x to y
    {"gamma_before_normalising", "gamma is multiplied in before the row is normalised", chapter_01, "Idea"},
    {"gamma_scales_beta", "beta is multiplied by gamma as well", chapter_01, "Idea"},
    {"gamma_missing", "gamma is left out", chapter_01, "Idea"},
    {"gamma_by_row", "gamma is taken by the row's number, not by the column's", chapter_01, "Idea"},
    {"one_gamma_a_four", "four columns share the gamma of the first of them", chapter_05, "Kernel"},
    {"null_gamma_is_zero", "a gamma that is null is taken as 0, not as 1", chapter_01, "Kernel"},
    {"beta_missing", "beta is left out", chapter_01, "Idea"},
    {"beta_subtracted", "beta is subtracted, not added", chapter_01, "Idea"},
    {"mean_not_subtracted", "the mean is not subtracted", chapter_01, "Idea"},
    {"rms_norm_for_layer_norm", "the mean of the squares stands under the root, as in RMSNorm, not the variance", chapter_06, "Idea"},
    {"layer_norm_for_rms_norm", "the mean is subtracted, as in LayerNorm", chapter_06, "Idea"},
    // The backward
    {"gamma_outside_the_mean", "gamma is left out of a mean over the row, and multiplied in after it", chapter_07, "γ stays inside"},
    {"gamma_twice", "gamma is multiplied in twice", chapter_07, "γ stays inside"},
    {"gamma_in_dgamma", "dgamma sums g · x̂, not dy · x̂", chapter_07, "dγ and dβ: sums over the rows"},
    {"xhat_term_missing", "the term with x̂ · mean(g · x̂) is left out", chapter_07, "dx: sums over the columns"},
    {"mean_of_g_missing", "the mean of g is not subtracted", chapter_07, "dx: sums over the columns"},
    {"mean_of_g_twice", "the mean of g is subtracted twice", chapter_07, "dx: sums over the columns"},
    {"rstd_missing", "rstd is left out", chapter_07, "dx: sums over the columns"},
    {"xhat_folded", "x̂ is x · rstd − mean · rstd, the difference of two large numbers, and cancels", chapter_07, "How exact"},
    {"means_over_n_minus_1", "a mean over the row is divided by N − 1, not by N", chapter_07, "dx: sums over the columns"},
    {"means_over_rows", "a mean over the row is divided by the number of rows, not of columns", chapter_07, "dx: sums over the columns"},
    {"transposed_reduction", "a sum goes over the wrong index, rows for columns or columns for rows", chapter_07, "dγ and dβ: sums over the rows"},
    {"dgamma_from_x", "dgamma sums dy · x, not dy · x̂", chapter_07, "dγ and dβ: sums over the rows"},
    {"dgamma_from_dx", "dgamma is made of dx, not of dy", chapter_07, "dγ and dβ: sums over the rows"},
    {"dgamma_dbeta_swapped", "dgamma and dbeta are exchanged", chapter_07, "dγ and dβ: sums over the rows"},
    {"dy_missing", "dy is left out of a sum over the rows", chapter_07, "dγ and dβ: sums over the rows"},
    {"rows_dropped", "some rows are left out of the sums for dgamma and dbeta", chapter_07, "dγ and dβ"},
    {"accumulate_ignored", "accumulate is ignored: the sums are written over what is there", chapter_07, "dγ and dβ"},
    {"accumulate_twice", "what is there is added twice", chapter_07, "dγ and dβ"},
    // The states of Welford and of softmax
    {"old_deviation_twice", "m2 grows by the square of x − (old mean)", chapter_03, "One more value"},
    {"new_deviation_twice", "m2 grows by the square of x − (new mean)", chapter_03, "One more value"},
    {"m2_not_accumulated", "m2 holds its newest term alone", chapter_03, "One more value"},
    {"divided_by_the_old_count", "delta is divided by the number of values before this one", chapter_03, "One more value"},
    {"first_value_skipped", "the first value does not become the mean", chapter_03, "One more value"},
    {"count_not_updated", "n is returned as it was", chapter_03, "One more value"},
    {"count_in_float", "the count goes through a float, which stays at 2²⁴ when 1 is added", chapter_03, "One more value"},
    {"count_in_32_bits", "the count goes through 32 bits", chapter_03, "One more value"},
    {"empty_part_not_guarded", "a part without values is merged as if it had some", chapter_03, "Two parts of a row"},
    {"plain_average_of_means", "the means are averaged as if both parts had as many values", chapter_03, "Two parts of a row"},
    {"wrong_part_weighs", "the mean moves by the other part's share of the values", chapter_03, "Two parts of a row"},
    {"distance_term_missing", "what the distance of the two means adds to m2 is left out", chapter_03, "Two parts of a row"},
    {"distance_not_weighted", "the squared distance of the means is added without nₐ·n_b ÷ n", chapter_03, "Two parts of a row"},
    {"one_part_lost", "the state of one part is returned for both", chapter_03, "Two parts of a row"},
    {"travels_up", "the states travel to higher lanes, away from lane 0", chapter_04, "A warp"},
    {"count_stays_at_home", "mean and m2 travel, and each lane takes its own count for the other's", chapter_04, "A warp"},
    {"mean_stays_at_home", "n and m2 travel, and each lane takes its own mean for the other's", chapter_04, "A warp"},
    {"m2_stays_at_home", "n and mean travel, and each lane takes its own m2 for the other's", chapter_04, "A warp"},
    {"no_maximum", "exp is taken of x itself, not of x − max", exercises_03, "03.3 Online softmax (write)"},
    {"smaller_maximum", "the smaller of the two maxima is kept", exercises_03, "03.3 Online softmax (write)"},
    {"sums_not_rescaled", "a sum is added as it is, though it belongs to another max", exercises_03, "03.3 Online softmax (write)"},
    {"rescaled_the_wrong_way", "a sum is multiplied by exp(max − its max), not by exp(its max − max)", exercises_03, "03.3 Online softmax (write)"},
    {"infinity_not_guarded", "−∞ is taken for a value like others", exercises_03, "03.3 Online softmax (write)"},
    {"number_taken_for_a_mask", "a finite number is taken for −∞", exercises_03, "03.3 Online softmax (write)"},
    {"infinity_weighs_one", "+∞ is taken for a value like others", exercises_03, "03.3 Online softmax (write)"},
};
// clang-format on

bool are_close(double got, double predicted) {
  if (std::isnan(got) || std::isnan(predicted)) return std::isnan(got) && std::isnan(predicted);
  if (std::isinf(got) || std::isinf(predicted)) return got == predicted;
  return std::abs(got - predicted) <= 1e-4 * std::abs(predicted);
}

}  // namespace

std::span<const Mistake> mistakes() { return catalogue; }

const Mistake& mistake(std::string_view name) {
  const auto found = std::find_if(std::begin(catalogue), std::end(catalogue),
                                  [&](const Mistake& known) { return known.name == name; });
  if (found == std::end(catalogue))
    throw std::invalid_argument("There is no mistake '" + std::string(name) + "' in common/testing/diagnosis.cpp");
  return *found;
}

std::string text(const LikelyMistakes& names) {
  if (names.empty()) return "no known mistake fits";
  std::string lines;
  for (const std::string& name : names) {
    const Mistake& known = mistake(name);
    if (!lines.empty()) lines += '\n';
    lines += "likely mistake: " + std::string(known.sentence) + " (" + name + "); read " + std::string(known.file) +
             ", " + std::string(known.section);
  }
  return lines;
}

std::string likely_mistake(const std::vector<Candidate>& candidates, const std::vector<double>& got,
                           const std::vector<double>& expected) {
  LikelyMistakes names;
  for (const Candidate& candidate : candidates) {
    const std::vector<double>& predicted = candidate.predicted;
    if (predicted.size() != got.size() || expected.size() != got.size())
      throw std::invalid_argument("likely_mistake: the prediction of '" + std::string(candidate.mistake) +
                                  "' must have as many elements as the result");
    const auto is_within = [&](double a, double b) { return std::abs(a - b) <= candidate.within; };
    if (candidate.within > 0 && std::equal(got.begin(), got.end(), predicted.begin(), is_within)) {
      add_name(names, candidate.mistake);
    }
    if (std::equal(expected.begin(), expected.end(), predicted.begin(), are_close)) continue;
    if (std::equal(got.begin(), got.end(), predicted.begin(), are_close)) add_name(names, candidate.mistake);
  }
  return "\n" + text(at_most_two(names));
}

}  // namespace testing
