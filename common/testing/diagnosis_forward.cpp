#include <testing/diagnosis.h>

#include <testing/fit.h>
#include <testing/random.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

namespace testing {
namespace {

constexpr double u = 0x1p-24;

/// A row as a formula sees it. For RMSNorm the right moments are 0 and the mean of the squares.
struct Row {
  const NormCase& input;
  Norm norm;
  std::int64_t r;
  std::span<const float> x;
  Moments right;

  double n() const { return static_cast<double>(x.size()); }
  double eps() const { return input.eps; }
  double gamma(std::size_t c) const { return input.gamma.empty() ? 1.0 : input.gamma[c]; }
  double beta(std::size_t c) const { return norm == Norm::rms_norm || input.beta.empty() ? 0.0 : input.beta[c]; }
};

struct Element {
  const Row& row;
  std::size_t c;
  double x, gamma, beta, mean, rstd;
  double normalised() const { return (x - mean) * rstd; }
};

double mean_of(const Row& row, const std::function<double(std::int64_t c)>& term) {
  double sum = 0;
  for (std::size_t c = 0; c < row.x.size(); ++c) sum += term(static_cast<std::int64_t>(c));
  return sum / row.n();
}

/// The moments of a row with other values in its columns.
Moments moments_of(const Row& row, const std::function<double(std::int64_t c)>& x) {
  const double mean = row.norm == Norm::rms_norm ? 0 : mean_of(row, x);
  return {mean, mean_of(row, [&](std::int64_t c) { return (x(c) - mean) * (x(c) - mean); })};
}

/// What the means of a row's fours, the last of which may be shorter, add to its variance.
double variance_between_fours(const Row& row) {
  return mean_of(row, [&](std::int64_t c) {
    const auto first = static_cast<std::size_t>(c / 4 * 4);
    const double distance =
        moments(row.x.subspan(first, std::min<std::size_t>(4, row.x.size() - first))).mean - row.right.mean;
    return distance * distance;
  });
}

/// Where in x a row begins that stands in the place of row r; outside of x where there is none.
using Start = std::function<std::int64_t(const NormCase& input, std::int64_t r)>;
std::int64_t own_start(const NormCase& input, std::int64_t r) { return r * input.cols; }

/// A norm with one mistake: each member is a part of the formula, right unless it is replaced.
struct Mistaken {
  std::string_view mistake;
  std::optional<Norm> only = std::nullopt;  // of this norm
  std::int64_t parts = 1;                   // of a row, each with statistics of its own
  std::function<std::int64_t(std::int64_t c)> part_of = [](std::int64_t) { return 0; };
  std::function<Moments(const Row&, std::int64_t part)> moments = [](const Row& row, std::int64_t) {
    return row.right;
  };
  std::function<double(const Row&, double variance)> rstd = [](const Row& row, double variance) {
    return 1 / std::sqrt(variance + row.eps());
  };
  std::function<double(const Row&, std::size_t c)> gamma = [](const Row& row, std::size_t c) { return row.gamma(c); };
  std::function<double(const Row&, std::size_t c)> beta = [](const Row& row, std::size_t c) { return row.beta(c); };
  std::function<double(const Element&)> y = [](const Element& e) { return e.normalised() * e.gamma + e.beta; };
  std::function<std::int64_t(std::int64_t c)> column = [](std::int64_t c) { return c; };  // whose y stands at c
  std::function<bool(std::int64_t c)> writes = [](std::int64_t) { return true; };
  std::function<double(double mean)> kept_mean = [](double mean) { return mean; };
  std::function<double(double variance, double rstd)> kept_rstd = [](double, double rstd) { return rstd; };
  Start statistics_at = own_start, elements_at = own_start, kept_at = own_start;
};

// ---- the catalogue

/// The moments of a row whose columns are counted as often as weight says, in each of the ways to divide.
std::vector<std::function<Moments(const Row&, std::int64_t)>> weighted_moments(const Weight& weight) {
  const auto sum = [=](const Row& row, const std::function<double(double x)>& term) {
    double result = 0;
    for (std::size_t c = 0; c < row.x.size(); ++c) {
      const double times = weight(static_cast<std::int64_t>(c));
      if (times != 0) result += times * term(row.x[c]);
    }
    return result;
  };
  const auto one = [](double) { return 1.0; };
  const auto value = [](double x) { return x; };
  const auto about = [](double mean) { return [mean](double x) { return (x - mean) * (x - mean); }; };
  const auto one_pass = [=](const Row& row, double origin) -> Moments {  // of sums that are shifted by origin
    if (row.norm == Norm::rms_norm) return row.right;
    const double mean = sum(row, [=](double x) { return x - origin; }) / row.n();
    return {origin + mean, sum(row, about(origin)) / row.n() - mean * mean};
  };
  return {
      [=](const Row& row, std::int64_t) -> Moments {  // states that count
        const double count = sum(row, one);
        const double mean = row.norm == Norm::rms_norm ? 0 : count == 0 ? 0 : sum(row, value) / count;
        return {mean, sum(row, about(mean)) / count};
      },
      [=](const Row& row, std::int64_t) -> Moments {  // sums that are divided by N
        const double mean = row.norm == Norm::rms_norm ? 0 : sum(row, value) / row.n();
        return {mean, sum(row, about(mean)) / row.n()};
      },
      [=](const Row& row, std::int64_t) -> Moments {  // the mean alone
        if (row.norm == Norm::rms_norm) return row.right;
        const double mean = sum(row, value) / row.n();
        const double offset = mean - row.right.mean;
        return {mean, row.right.variance + offset * offset};
      },
      [=](const Row& row, std::int64_t) -> Moments {  // the variance alone
        return {row.right.mean, sum(row, about(row.right.mean)) / row.n()};
      },
      [=](const Row& row, std::int64_t) -> Moments { return one_pass(row, 0); },  // E[x²] − E[x]²
      [=](const Row& row, std::int64_t) -> Moments { return one_pass(row, row.x[0]); },
  };
}

void add_what_stands_under_the_root(std::vector<Mistaken>& all) {
  all.push_back({.mistake = "variance_over_n_minus_1", .moments = [](const Row& row, std::int64_t) -> Moments {
                   return {row.right.mean, row.right.variance * row.n() / (row.n() - 1)};
                 }});
  all.push_back({.mistake = "variance_over_n_minus_1",  // of E[x²] alone
                 .only = Norm::layer_norm,
                 .moments = [](const Row& row, std::int64_t) -> Moments {
                   const double square = row.right.mean * row.right.mean;
                   return {row.right.mean, (row.right.variance + square) * row.n() / (row.n() - 1) - square};
                 }});
  all.push_back({.mistake = "sums_not_divided", .moments = [](const Row& row, std::int64_t) -> Moments {
                   return {row.right.mean, row.right.variance * row.n()};
                 }});
  for (const bool both : {false, true}) {
    all.push_back({.mistake = "sums_not_divided",
                   .only = Norm::layer_norm,
                   .moments = [both](const Row& row, std::int64_t) -> Moments {
                     const double sum = row.right.mean * row.n(), offset = sum - row.right.mean;
                     return {sum, (row.right.variance + offset * offset) * (both ? row.n() : 1)};
                   }});
  }
  for (const int choice : {0, 1, 2, 4, 5, 6}) {  // E[x²] − E[x]²: one of the sums, or both; shifted by x[0] or not
    const bool is_shifted = choice >= 4, divides_sum = choice % 4 == 1, divides_squares = choice % 4 == 2;
    all.push_back({.mistake = "sums_not_divided",
                   .only = Norm::layer_norm,
                   .moments = [=](const Row& row, std::int64_t) -> Moments {
                     const double origin = is_shifted ? row.x[0] : 0, mean = row.right.mean - origin;
                     const double first = mean * (divides_sum ? 1 : row.n());
                     const double second = (row.right.variance + mean * mean) * (divides_squares ? 1 : row.n());
                     return {origin + first, second - first * first};
                   }});
  }
  all.push_back({.mistake = "eps_outside_the_root",
                 .rstd = [](const Row& row, double variance) { return 1 / (std::sqrt(variance) + row.eps()); }});
  all.push_back(
      {.mistake = "eps_missing", .rstd = [](const Row&, double variance) { return 1 / std::sqrt(variance); }});
  all.push_back({.mistake = "eps_added_to_n", .rstd = [](const Row& row, double variance) {
                   return 1 / std::sqrt(variance * row.n() / (row.n() + row.eps()));
                 }});
  all.push_back(
      {.mistake = "no_root", .rstd = [](const Row& row, double variance) { return 1 / (variance + row.eps()); }});
  all.push_back(
      {.mistake = "mean_not_squared", .only = Norm::layer_norm, .moments = [](const Row& row, std::int64_t) -> Moments {
         const auto [mean, variance] = row.right;
         return {mean, variance + mean * mean - mean};
       }});
  all.push_back({.mistake = "square_of_the_sum",
                 .only = Norm::layer_norm,
                 .moments = [](const Row& row, std::int64_t) -> Moments {
                   const auto [mean, variance] = row.right;
                   return {mean, variance + mean * mean - mean * mean * row.n() * row.n()};
                 }});
  all.push_back({.mistake = "variance_over_n_minus_1",  // of E[x²] alone, where x is shifted by x[0]
                 .only = Norm::layer_norm,
                 .moments = [](const Row& row, std::int64_t) -> Moments {
                   const double shifted = row.right.mean - double{row.x[0]}, square = shifted * shifted;
                   return {row.right.mean, (row.right.variance + square) * row.n() / (row.n() - 1) - square};
                 }});
  // Sums that are shifted by x[0].
  const auto shifted = [&](std::string_view mistake, const auto& moments) {
    all.push_back({.mistake = mistake, .only = Norm::layer_norm, .moments = [=](const Row& row, std::int64_t) {
                     return moments(row.right.mean, row.right.variance, static_cast<double>(row.x[0]));
                   }});
  };
  shifted("shift_forgotten", [](double mean, double variance, double origin) -> Moments {
    return {mean, variance + (mean - origin) * (mean - origin)};
  });
  shifted("mean_not_shifted_back", [](double mean, double variance, double origin) -> Moments {
    return {mean - origin, variance};
  });
  shifted("unshifted_mean_squared", [](double mean, double variance, double origin) -> Moments {
    return {mean, variance + (mean - origin) * (mean - origin) - mean * mean};
  });
  shifted("squares_not_shifted", [](double mean, double variance, double origin) -> Moments {
    return {mean, variance + mean * mean - (mean - origin) * (mean - origin)};
  });
}

void add_wrong_counts(std::vector<Mistaken>& all, std::int64_t cols, std::int64_t threads) {
  for (const Counted& counted : wrong_counts(cols, threads)) {
    for (const auto& moments : weighted_moments(counted.weight)) {
      all.push_back({.mistake = counted.mistake, .moments = moments});
      if (counted.mistake != "tail_dropped" || counted.weight(0) == 0) continue;
      all.push_back(  // the loop that writes ends too early as well
          {.mistake = counted.mistake, .moments = moments, .writes = [weight = counted.weight](std::int64_t c) {
             return weight(c) != 0;
           }});
    }
  }
  for (const std::int64_t end : short_ends(cols, threads)) {
    if (end == 0) continue;  // nothing is written at all
    all.push_back({.mistake = "tail_not_written", .writes = [=](std::int64_t c) { return c < end; }});
  }
  for (const Dealt& dealt : deals(threads)) {
    if (threads <= 32) continue;
    for (std::size_t style = 0; style < 2; ++style) {  // states that count, sums that are divided by N
      all.push_back({.mistake = "own_warp_only",
                     .parts = threads / 32,
                     .part_of = [=](std::int64_t c) { return dealt.warp(c); },
                     .moments =
                         [=](const Row& row, std::int64_t part) {
                           const Weight own = [=](std::int64_t c) { return dealt.warp(c) == part ? 1.0 : 0.0; };
                           return weighted_moments(own)[style](row, part);
                         }});
    }
  }
  for (const Lopsided& lopsided : results_of_thread_0(threads)) {
    for (std::size_t style = 0; style < 2; ++style) {  // states that count, sums that are divided by N
      all.push_back({.mistake = "sum_for_thread_0_only",
                     .parts = threads,
                     .part_of = lopsided.thread,
                     .moments = [=](const Row& row, std::int64_t thread) {
                       const Weight given = [=](std::int64_t c) { return lopsided.times(thread, c); };
                       return weighted_moments(given)[style](row, thread);
                     }});
    }
  }
  for (const std::int64_t length : padded_lengths(cols, threads)) {
    const auto padded = static_cast<double>(length);
    for (const bool in_mean : {false, true}) {
      for (const bool in_squares : {false, true}) {
        for (const bool in_variance : {false, true}) {
          all.push_back({.mistake = "zero_padded_lanes", .moments = [=](const Row& row, std::int64_t) -> Moments {
                           const double mean = row.right.mean * (in_mean ? row.n() / padded : 1);
                           const double offset = mean - row.right.mean;
                           const double zeros = in_squares ? (padded - row.n()) * mean * mean : 0;
                           const double squares = (row.right.variance + offset * offset) * row.n() + zeros;
                           return {mean, squares / (in_variance ? padded : row.n())};
                         }});
        }
      }
    }
  }
  if (threads > 1) {
    all.push_back({.mistake = "four_counts_as_one",
                   .only = Norm::layer_norm,
                   .moments = [](const Row& row, std::int64_t) -> Moments {
                     return {row.right.mean, 4 * row.right.variance - 3 * variance_between_fours(row)};
                   }});
    all.push_back({.mistake = "m2_of_fours_missing",
                   .only = Norm::layer_norm,
                   .moments = [](const Row& row, std::int64_t) -> Moments {
                     return {row.right.mean, variance_between_fours(row)};
                   }});
    const std::int64_t whole = cols - cols % 4;
    constexpr int in_order = 0b11'10'01'00;  // two bits for each float of a four: whose place it has
    for (int order = 0; order < 256; ++order) {
      if (order == in_order) continue;
      const auto column = [=](std::int64_t c) { return c < whole ? c / 4 * 4 + (order >> 2 * (c % 4) & 3) : c; };
      all.push_back({.mistake = "fours_in_another_order", .column = column});
      all.push_back({.mistake = "fours_in_another_order",  // of the loads for the statistics, too
                     .moments =
                         [=](const Row& row, std::int64_t) {
                           return moments_of(
                               row, [&](std::int64_t c) { return row.x[static_cast<std::size_t>(column(c))]; });
                         },
                     .column = column});
    }
  }
}

void add_wrong_rows(std::vector<Mistaken>& all, std::int64_t rows) {
  if (rows < 2) return;
  const Start starts[] = {
      [](const NormCase& input, std::int64_t r) { return std::min(r + 1, input.rows - 1) * input.cols; },
      [](const NormCase& input, std::int64_t r) { return std::max<std::int64_t>(r - 1, 0) * input.cols; },
      [](const NormCase& input, std::int64_t r) { return (r + 1) % input.rows * input.cols; },
      [](const NormCase& input, std::int64_t r) { return (r + input.rows - 1) % input.rows * input.cols; },
      [](const NormCase& input, std::int64_t r) { return (r + 1) * input.cols; },
      [](const NormCase& input, std::int64_t r) { return (r - 1) * input.cols; },
      [](const NormCase& input, std::int64_t r) { return r * (input.cols - 1); },
      [](const NormCase& input, std::int64_t r) { return r / 2 * 2 * input.cols; },  // a block of two rows
  };
  for (const Start& start : starts) {
    all.push_back({.mistake = "row_off_by_one", .statistics_at = start, .elements_at = start, .kept_at = start});
    all.push_back({.mistake = "row_off_by_one", .statistics_at = start, .kept_at = start});
    all.push_back({.mistake = "row_off_by_one", .statistics_at = start});
    all.push_back({.mistake = "row_off_by_one", .statistics_at = start, .elements_at = start});
    all.push_back({.mistake = "row_off_by_one", .elements_at = start});
    all.push_back({.mistake = "row_off_by_one", .kept_at = start});
  }
}

void add_outputs(std::vector<Mistaken>& all) {
  for (int written = 0; written < 7; ++written) {  // y, mean, rstd: every choice but all three
    all.push_back({.mistake = "never_written",
                   .writes = [=](std::int64_t) { return (written & 1) != 0; },
                   .kept_mean = [=](double mean) { return (written & 2) != 0 ? mean : not_written; },
                   .kept_rstd = [=](double, double rstd) { return (written & 4) != 0 ? rstd : not_written; }});
  }
  for (const std::int64_t block_rows : {2, 4, 8}) {  // of each block the first row alone
    const Start start = [=](const NormCase& input, std::int64_t r) {
      return r % block_rows == 0 ? r * input.cols : -1;
    };
    all.push_back({.mistake = "never_written", .statistics_at = start, .elements_at = start, .kept_at = start});
  }
  for (int zero = 1; zero < 8; zero += 2) {  // y, and with it any of mean and rstd
    all.push_back({.mistake = "all_zeros",
                   .y = [](const Element&) { return 0.0; },
                   .kept_mean = [=](double mean) { return (zero & 2) != 0 ? 0 : mean; },
                   .kept_rstd = [=](double, double rstd) { return (zero & 4) != 0 ? 0 : rstd; }});
  }
  // With eps or without, and where y is made of it or not.
  all.push_back({.mistake = "variance_for_rstd", .rstd = [](const Row&, double variance) { return variance; }});
  all.push_back(
      {.mistake = "variance_for_rstd", .rstd = [](const Row& row, double variance) { return variance + row.eps(); }});
  all.push_back({.mistake = "variance_for_rstd", .kept_rstd = [](double variance, double) { return variance; }});
  all.push_back({.mistake = "variance_for_rstd", .kept_rstd = [](double, double rstd) { return 1 / (rstd * rstd); }});
}

void add_from_x_to_y(std::vector<Mistaken>& all, std::int64_t cols) {
  // All of γ·x (and β) is normalised: its moments are those of another row.
  for (const bool beta_too : {false, true}) {
    const auto scaled = [=](const Row& row, std::size_t c) {
      return row.x[c] * row.gamma(c) + (beta_too ? row.beta(c) : 0);
    };
    all.push_back({.mistake = "gamma_before_normalising",
                   .moments =
                       [=](const Row& row, std::int64_t) {
                         return moments_of(row,
                                           [&](std::int64_t c) { return scaled(row, static_cast<std::size_t>(c)); });
                       },
                   .y =
                       [=](const Element& e) {
                         return (e.x * e.gamma + (beta_too ? e.beta : 0) - e.mean) * e.rstd + (beta_too ? 0 : e.beta);
                       }});
  }
  all.push_back({.mistake = "gamma_before_normalising", .only = Norm::layer_norm, .y = [](const Element& e) {
                   return (e.x * e.gamma - e.mean) * e.rstd + e.beta;
                 }});
  all.push_back({.mistake = "gamma_scales_beta", .only = Norm::layer_norm, .y = [](const Element& e) {
                   return (e.normalised() + e.beta) * e.gamma;
                 }});
  all.push_back({.mistake = "gamma_by_row", .gamma = [](const Row& row, std::size_t) {
                   return row.gamma(static_cast<std::size_t>(row.r % row.input.cols));
                 }});
  for (const std::size_t first : {1, 3}) {  // from this one of four on
    all.push_back({.mistake = "one_gamma_a_four",
                   .gamma = [=](const Row& row, std::size_t c) { return row.gamma(c % 4 >= first ? c / 4 * 4 : c); }});
  }
  const auto whole = static_cast<std::size_t>(cols - cols % 4);
  const std::pair<std::size_t, std::size_t> columns[] = {
      {0, static_cast<std::size_t>(cols)}, {0, whole}, {whole, static_cast<std::size_t>(cols)}};  // the tail alone
  for (const auto& range : columns) {
    const auto there = [=](std::size_t c, double mistaken, double right) {
      return range.first <= c && c < range.second ? mistaken : right;
    };
    all.push_back({.mistake = "null_gamma_is_zero", .gamma = [=](const Row& row, std::size_t c) {
                     return there(c, row.input.gamma.empty() ? 0 : row.gamma(c), row.gamma(c));
                   }});
    all.push_back({.mistake = "gamma_missing",
                   .gamma = [=](const Row& row, std::size_t c) { return there(c, 1, row.gamma(c)); }});
    all.push_back({.mistake = "beta_missing", .only = Norm::layer_norm, .beta = [=](const Row& row, std::size_t c) {
                     return there(c, 0, row.beta(c));
                   }});
    all.push_back({.mistake = "beta_subtracted", .only = Norm::layer_norm, .beta = [=](const Row& row, std::size_t c) {
                     return there(c, -row.beta(c), row.beta(c));
                   }});
  }
  const auto mean_square = [](const Row& row, std::int64_t) -> Moments {
    return {row.right.mean, row.right.variance + row.right.mean * row.right.mean};
  };
  const auto uncentred = [](const Element& e) { return e.x * e.rstd * e.gamma + e.beta; };
  const auto uncentred_tail = [=](const Element& e) {
    return (e.c < whole ? e.normalised() : e.x * e.rstd) * e.gamma + e.beta;
  };
  const auto no_beta = [](const Row&, std::size_t) { return 0.0; };
  all.push_back({.mistake = "mean_not_subtracted", .only = Norm::layer_norm, .y = uncentred});
  all.push_back({.mistake = "mean_not_subtracted", .only = Norm::layer_norm, .y = uncentred_tail});
  all.push_back({.mistake = "mean_not_subtracted", .only = Norm::layer_norm, .beta = no_beta, .y = uncentred});
  all.push_back({.mistake = "rms_norm_for_layer_norm", .only = Norm::layer_norm, .moments = mean_square});
  all.push_back(
      {.mistake = "rms_norm_for_layer_norm", .only = Norm::layer_norm, .moments = mean_square, .y = uncentred});
  all.push_back({.mistake = "rms_norm_for_layer_norm",
                 .only = Norm::layer_norm,
                 .moments = mean_square,
                 .beta = no_beta,
                 .y = uncentred});
  const auto about_the_mean = [](const Row& row, std::int64_t) { return moments(row.x); };
  all.push_back({.mistake = "layer_norm_for_rms_norm", .only = Norm::rms_norm, .moments = about_the_mean});
  all.push_back(
      {.mistake = "layer_norm_for_rms_norm", .only = Norm::rms_norm, .moments = about_the_mean, .y = uncentred});
  all.push_back({.mistake = "layer_norm_for_rms_norm", .only = Norm::rms_norm, .y = [](const Element& e) {
                   return (e.x - moments(e.row.x).mean) * e.rstd * e.gamma;
                 }});
}

/// Every mistake that a kernel of this shape can make.
std::vector<Mistaken> mistakes_of(const NormCase& input, Norm norm, std::int64_t threads) {
  std::vector<Mistaken> all;
  add_outputs(all);
  add_what_stands_under_the_root(all);
  add_wrong_counts(all, input.cols, threads);
  add_wrong_rows(all, input.rows);
  add_from_x_to_y(all, input.cols);
  std::erase_if(all, [&](const Mistaken& m) { return m.only.has_value() && *m.only != norm; });
  return all;
}

// ---- whether one fits

/// The right values of a case and the bounds on them; RMSNorm has no mean.
struct Truth {
  std::vector<double> y, mean, rstd, y_bound, mean_bound, rstd_bound;
};

Truth truth_of(const NormCase& input, Summation summation, Norm norm) {
  if (norm == Norm::rms_norm) {
    RmsNormReference right = rms_norm_reference(input.x, input.gamma, input.rows, input.cols, input.eps);
    RmsNormTolerance bound = rms_norm_tolerance(input, right, summation);
    return {std::move(right.y), {}, std::move(right.rstd), std::move(bound.y), {}, std::move(bound.rstd)};
  }
  LayerNormReference right = layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps);
  LayerNormTolerance bound = layer_norm_tolerance(input, right, summation);
  return {std::move(right.y), std::move(right.mean), std::move(right.rstd),
          std::move(bound.y), std::move(bound.mean), std::move(bound.rstd)};
}

Moments right_moments(std::span<const float> x, Norm norm) {
  if (norm == Norm::layer_norm) return moments(x);
  double squares = 0;
  for (const float value : x) squares += double{value} * value;
  return {0, squares / static_cast<double>(x.size())};
}

/// Whether a row tells mistakes from each other: one column, equal values, or a variance that is lost beside the mean
/// do not, nor does a row with NaN or infinity.
bool tells(std::span<const float> x) {
  const auto [mean, variance] = moments(x);
  return std::isfinite(variance) && variance > 0x1p-30 * mean * mean && variance > 0;
}

/// The kernel's own roundings, around a prediction: the bounds of tolerance.h with the mistaken statistics, and four
/// times as much, because a mistaken kernel may round in other places.
class Tolerance {
public:
  Tolerance(const Moments& right, const Moments& mistaken, double rstd, double largest_x, Summation summation)
      : chain_(longest_chain(summation) + 8), largest_x_(largest_x), rstd_(std::abs(rstd)) {
    const double mean = std::max(std::abs(right.mean), std::abs(mistaken.mean));
    kappa_ = std::max(1.0, mean * rstd_);
    const double variance = std::abs(mistaken.variance);
    relative_rstd_ = variance > 0 ? chain_ * u * std::sqrt(1 + mean * mean / variance) + 4 * u : 4 * u;
  }
  double y(const Element& e, double predicted) const {
    const double normalised = std::abs(e.x) * rstd_ + kappa_;
    const double gamma = std::max(std::abs(e.gamma), 1.0);
    return 4 * (gamma * (chain_ * kappa_ * u + (relative_rstd_ + 4 * u) * normalised) +
                4 * u * (1 + std::abs(e.beta)) * gamma + 4 * u * std::abs(predicted));
  }
  double mean() const { return 4 * chain_ * u * largest_x_; }
  double rstd(double predicted) const { return 4 * relative_rstd_ * std::abs(predicted); }

private:
  double chain_, largest_x_, rstd_, kappa_ = 1, relative_rstd_ = 0;
};

class Judge {
public:
  Judge(const NormResult& got, const NormCase& input, Summation summation, Norm norm)
      : got_(got), input_(input), summation_(summation), norm_(norm), truth_(truth_of(input, summation, norm)) {
    for (std::int64_t r = 0; r < input.rows; ++r) rows_.push_back(row_at(r, r * input.cols));
  }

  Fit fit(const Mistaken& mistaken) const {
    Fit fit;
    for (const Row& row : rows_) {
      if (!tells(row.x)) continue;
      add_row(mistaken, row, fit);
      if (!fit.agrees) break;
    }
    return fit;
  }

  /// The largest error/bound of all outputs.
  double ratio() const {
    const auto of = [](std::span<const float> got, std::span<const double> right, std::span<const double> bound) {
      return got.empty() || right.empty() ? 0 : compare("", got, right, bound, 1).ratio;
    };
    return std::max({of(got_.y, truth_.y, truth_.y_bound), of(got_.mean, truth_.mean, truth_.mean_bound),
                     of(got_.rstd, truth_.rstd, truth_.rstd_bound)});
  }

private:
  Row row_at(std::int64_t r, std::int64_t start) const {
    const std::span<const float> x =
        std::span(input_.x).subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(input_.cols));
    return {input_, norm_, r, x, right_moments(x, norm_)};
  }
  /// The row that a start leads to; nothing outside of x.
  std::optional<Row> row_of(const Start& at, const Row& own) const {
    const std::int64_t start = at(input_, own.r);
    if (start == own.r * input_.cols) return own;
    if (start < 0 || start + input_.cols > input_.rows * input_.cols) return std::nullopt;
    return row_at(own.r, start);
  }

  void add_row(const Mistaken& mistaken, const Row& own, Fit& fit) const {
    const std::optional<Row> statistics = row_of(mistaken.statistics_at, own);
    const std::optional<Row> elements = row_of(mistaken.elements_at, own);
    const std::optional<Row> kept = row_of(mistaken.kept_at, own);
    const auto r = static_cast<std::size_t>(own.r);
    float largest = 0;
    for (const float x : own.x) largest = std::max(largest, std::abs(x));

    struct Part {
      Moments moments;
      double rstd;
      Tolerance tolerance;
    };
    const auto part_of = [&](const Row& row, std::int64_t part) -> Part {
      const Moments moments = mistaken.moments(row, part);
      const double rstd = mistaken.rstd(row, moments.variance);
      return {moments, rstd, Tolerance(row.right, moments, rstd, largest, summation_)};
    };
    const Part kept_part = part_of(kept.value_or(own), 0);
    if (!got_.mean.empty() && norm_ == Norm::layer_norm) {
      const double mean = kept.has_value() ? mistaken.kept_mean(kept_part.moments.mean) : not_written;
      fit.add(got_.mean[r], mean, kept_part.tolerance.mean(), truth_.mean[r], truth_.mean_bound[r]);
    }
    if (!got_.rstd.empty()) {
      const double rstd =
          kept.has_value() ? mistaken.kept_rstd(kept_part.moments.variance, kept_part.rstd) : not_written;
      fit.add(got_.rstd[r], rstd, kept_part.tolerance.rstd(rstd), truth_.rstd[r], truth_.rstd_bound[r]);
    }
    std::vector<std::optional<Part>> parts(static_cast<std::size_t>(mistaken.parts));
    if (got_.y.empty()) return;  // a kernel of the statistics alone
    for (std::int64_t c = 0; c < input_.cols && fit.agrees; ++c) {
      const std::int64_t column = mistaken.column(c);
      const std::size_t i = r * static_cast<std::size_t>(input_.cols) + static_cast<std::size_t>(c);
      if (!statistics.has_value() || !elements.has_value() || !mistaken.writes(c)) {
        fit.add(got_.y[i], not_written, 0, truth_.y[i], truth_.y_bound[i]);
        continue;
      }
      const std::int64_t number = mistaken.part_of(column);
      std::optional<Part>& part = parts[static_cast<std::size_t>(number)];
      if (!part.has_value()) part = part_of(*statistics, number);
      const auto from = static_cast<std::size_t>(column);
      const Element element{.row = *elements,
                            .c = from,
                            .x = elements->x[from],
                            .gamma = mistaken.gamma(*elements, from),
                            .beta = mistaken.beta(own, from),
                            .mean = part->moments.mean,
                            .rstd = part->rstd};
      const double y = mistaken.y(element);
      fit.add(got_.y[i], y, part->tolerance.y(element, y), truth_.y[i], truth_.y_bound[i]);
    }
  }

  const NormResult& got_;
  const NormCase& input_;
  Summation summation_;
  Norm norm_;
  Truth truth_;
  std::vector<Row> rows_;
};

// ---- the probe, and what shows only on some rows

/// The same shape and the same nulls, with rows around this mean on which no two mistakes give the same values: neither
/// the mean nor 1 nor eps is small beside the variance.
NormCase probe_of(const NormCase& input, double mean) {
  Random random(0x5eed);
  NormCase probe = input;
  probe.name = "the probe for " + input.name;
  probe.eps = 0.5f;
  fill_probe(probe.x, probe.cols, mean, random);
  for (float& gamma : probe.gamma) gamma = static_cast<float>(random.uniform(-2, 2));
  for (float& beta : probe.beta) beta = static_cast<float>(random.uniform(-1, 1));
  return probe;
}

constexpr double probe_mean = 1.5, far_mean = 300;

/// Whether every variance, taken back from rstd, is off by no more than D·κ²·u explains, twice over; NaN where that
/// could have made it negative.
bool is_explained_by_cancellation(const NormResult& got, const NormCase& input, Summation summation) {
  const double d = std::max(4.0, longest_chain(summation)) + 2;
  for (std::int64_t r = 0; r < input.rows; ++r) {
    const auto [mean, variance] = moments(
        std::span(input.x).subspan(static_cast<std::size_t>(r * input.cols), static_cast<std::size_t>(input.cols)));
    const double explained = 2 * d * u * (variance + mean * mean);
    const double rstd = got.rstd[static_cast<std::size_t>(r)];
    const bool negative = std::isnan(rstd) && variance + static_cast<double>(input.eps) <= explained;
    // rstd itself is rounded, which counts where eps is large.
    const double rounding = 16 * u * (variance + static_cast<double>(input.eps));
    if (!negative && !(std::abs(1 / (rstd * rstd) - input.eps - variance) <= explained + rounding)) return false;
  }
  return true;
}

bool cancels(const NormResult& got, const NormCase& input, Summation summation, const RunNorm& again) {
  if (got.rstd.empty() || !is_explained_by_cancellation(got, input, summation)) return false;
  NormCase centred = input;  // the same rows without their means
  for (std::int64_t r = 0; r < input.rows; ++r) {
    const std::span<float> row =
        std::span(centred.x).subspan(static_cast<std::size_t>(r * input.cols), static_cast<std::size_t>(input.cols));
    const double mean = moments(row).mean;
    for (float& x : row) x = static_cast<float>(x - mean);
  }
  const NormResult of_centred = again(centred);
  if (Judge(of_centred, centred, summation, Norm::layer_norm).ratio() > 1) return false;
  const NormCase far = probe_of(input, far_mean);
  const NormResult of_far = again(far);
  return Judge(of_far, far, summation, Norm::layer_norm).ratio() > 1 &&
         is_explained_by_cancellation(of_far, far, summation);
}

LikelyMistakes fitting(const NormResult& got, const NormCase& input, Summation summation, Norm norm,
                       const RunNorm& again) {
  const NormCase probe = probe_of(input, probe_mean);
  const std::optional<NormResult> probed = result_on(probe, again);
  const Judge on_case(got, input, summation, norm);
  std::optional<Judge> on_probe;
  if (probed.has_value()) on_probe.emplace(*probed, probe, summation, norm);
  // Where κ is small a variance that cancels may be off by a little more than the bound.
  if (on_probe.has_value() && on_probe->ratio() <= 4) {
    const bool cancelled = norm == Norm::layer_norm && cancels(got, input, summation, again);
    return cancelled ? LikelyMistakes{"one_pass_cancellation"} : LikelyMistakes{};
  }
  return at_most_two(names_that_fit(mistakes_of(input, norm, summation.threads), on_case, on_probe));
}

}  // namespace

LikelyMistakes likely_mistakes(const NormResult& got, const NormCase& input, Summation summation, Norm norm,
                               const RunNorm& again) {
  try {
    return fitting(got, input, summation, norm, again);
  } catch (const std::exception&) {
    return {};  // the diagnosis is an extra: whatever it meets, the verdict stands
  }
}

}  // namespace testing
