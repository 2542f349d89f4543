/// Which known mistake a wrong result looks like.
///
/// Each mistake has an oracle: its formula in double precision, which predicts every output. A mistake is named where
/// the result agrees with the prediction and the prediction is not the right value. Most mistakes coincide on some
/// data, so a kernel that failed is run once more, on a probe on which they differ.
#pragma once

#include <host/norm_backward.h>
#include <testing/backward.h>
#include <testing/run.h>

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace testing {

struct Mistake {
  std::string_view name;      // "variance_over_n_minus_1"
  std::string_view sentence;  // "the variance is divided by N − 1, not by N"
  std::string_view file;      // what to read: "chapters/01_three_pass/README.md"
  std::string_view section;   // a heading in it: "Idea"
};

/// All mistakes that a diagnosis can name.
std::span<const Mistake> mistakes();
/// Throws std::invalid_argument if no mistake has this name.
const Mistake& mistake(std::string_view name);

/// Runs the kernel in question on another case of the same shape. Empty where only a result is at hand.
using RunNorm = std::function<NormResult(const NormCase&)>;
using RunBackward = std::function<BackwardResult(const BackwardCase&)>;

/// The names of the one or two mistakes that a wrong result fits; empty where none does, or more than two.
LikelyMistakes likely_mistakes(const NormResult& got, const NormCase& input, Summation summation, Norm norm,
                               const RunNorm& again);
LikelyMistakes likely_mistakes(const BackwardResult& got, const BackwardCase& input, BackwardSummation summation,
                               BackwardRunOptions options, const RunBackward& again);

/// For a person: one line for each name, "likely mistake: …; read …", or "no known mistake fits". Without a line break
/// at the end.
std::string text(const LikelyMistakes& names);

/// A mistake and the numbers that it makes, where a test computes them itself.
struct Candidate {
  std::string_view mistake;
  std::vector<double> predicted;
  double within = 0;  // absolute; for a mistake that is a rounding error, whose predicted is the right value
};
/// text() of the candidates whose predictions got fits within 10⁻⁴, and which differ from expected by more than that;
/// or within what a candidate says.
/// Begins with a line break, so that a test can append it to its sentence. got, expected and each prediction have the
/// same number of elements.
std::string likely_mistake(const std::vector<Candidate>& candidates, const std::vector<double>& got,
                           const std::vector<double>& expected);

}  // namespace testing
