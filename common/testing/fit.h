/// What the diagnosis of the forward and that of the backward have in common: predictions, and whether a result fits.
#pragma once

#include <testing/compare.h>
#include <testing/random.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace testing {

/// The prediction of an element that a kernel leaves as it was. No float has this value.
inline constexpr double not_written = -0x1p1000;

/// Whether got is the predicted value: within the tolerance, or the same infinity or any NaN, or never written.
bool agrees(float got, double predicted, double tolerance);

/// How a prediction compares with a result and with the truth.
struct Fit {
  bool agrees = true;     // every element that was compared is as predicted
  bool convicts = false;  // some predicted element is outside the bound on the right one
  void add(float got, double predicted, double tolerance, double right, double bound);
};

/// Adds a name once.
void add_name(LikelyMistakes& names, std::string_view name);
/// Empty where there are more: then nothing is known.
LikelyMistakes at_most_two(const LikelyMistakes& names);

/// What the kernel gives on the probe; nothing where it cannot be run again, or has a finding there: then the case
/// itself has to do.
template <class Result, class Case>
std::optional<Result> result_on(const Case& probe, const std::function<Result(const Case&)>& again) {
  try {
    if (again) return again(probe);
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

/// The names of the mistakes that fit a case, and the probe, on which they must convict; the case, where no probe could
/// be run. A judge's fit(mistaken) is a Fit.
template <class Mistaken, class Judge>
LikelyMistakes names_that_fit(const std::vector<Mistaken>& mistakes, const Judge& on_case,
                              const std::optional<Judge>& on_probe) {
  LikelyMistakes names;
  for (const Mistaken& mistaken : mistakes) {
    Fit fit = on_case.fit(mistaken);
    if (fit.agrees && on_probe.has_value()) fit = on_probe->fit(mistaken);
    if (fit.agrees && fit.convicts) add_name(names, mistaken.mistake);
  }
  return names;
}

/// Fills rows with values around this mean, scaled by a power of two that differs in neighbouring rows: a variance is
/// less or more than the probe's eps, and a row is not its neighbour.
void fill_probe(std::vector<float>& x, std::int64_t cols, double mean, Random& random);

/// How often each column of a row is counted, where all should be counted once.
using Weight = std::function<double(std::int64_t column)>;
/// A mistake about which columns are counted.
struct Counted {
  std::string_view mistake;
  Weight weight;
};
/// The ways in which threads can lose columns of a row, or count some twice.
std::vector<Counted> wrong_counts(std::int64_t cols, std::int64_t threads);

/// How columns are dealt out: width neighbours to each of the row's threads in turn.
struct Dealt {
  std::int64_t width, threads;
  std::int64_t thread(std::int64_t column) const { return column / width % threads; }
  std::int64_t warp(std::int64_t column) const { return thread(column) / 32; }
};
/// One by one, and in fours.
std::vector<Dealt> deals(std::int64_t threads);

/// A reduction whose result thread 0 alone is given: the others keep what they have by then.
struct Lopsided {
  std::function<std::int64_t(std::int64_t column)> thread;                // whose column it is
  std::function<double(std::int64_t thread, std::int64_t column)> times;  // how often that thread has counted a column
};
/// By shuffles, in the warps and then over them, from near to far and from far to near; and by a tree in shared memory.
std::vector<Lopsided> results_of_thread_0(std::int64_t threads);

/// How many columns of a row are left by a loop that ends too early; each is less than cols.
std::vector<std::int64_t> short_ends(std::int64_t cols, std::int64_t threads);
/// To how many columns a row may be filled up; each is more than cols.
std::vector<std::int64_t> padded_lengths(std::int64_t cols, std::int64_t threads);

}  // namespace testing
