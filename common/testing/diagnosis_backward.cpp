#include <testing/diagnosis.h>

#include <testing/fit.h>
#include <testing/random.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <set>

namespace testing {
namespace {

constexpr double u = 0x1p-24;

/// One element of x, with what belongs to its row and its column.
struct Element {
  std::int64_t r, c;
  double x, dy, gamma, mean, rstd;
  double normalised;  // x̂, as the kernel in question makes it for this output
  double g() const { return dy * gamma; }
};
using Term = std::function<double(const Element&)>;

double plain_g(const Element& e) { return e.g(); }
double g_times_normalised(const Element& e) { return e.g() * e.normalised; }
double normalised(const Element& e) { return (e.x - e.mean) * e.rstd; }

/// An element of the matrix, and the row whose statistics are taken for it.
struct Place {
  std::int64_t r, c, statistics;
};

/// The row that stands in the place of row r.
using RowFor = std::function<std::int64_t(std::int64_t r)>;
std::int64_t own_row(std::int64_t r) { return r; }

/// A backward with one mistake: each member is a part of the formulas, right unless it is replaced.
struct Mistaken {
  std::string_view mistake;
  std::optional<Norm> only = std::nullopt;  // of this norm
  RowFor x_from = own_row, dy_from = own_row, mean_from = own_row, rstd_from = own_row;
  Term normalised_for_dx = normalised;               // x̂
  Term normalised_for_dgamma = normalised;           // x̂
  Term summed_g = plain_g;                           // whose mean over the row is subtracted; RMSNorm subtracts none
  Term summed_gx = g_times_normalised;               // whose mean over the row is multiplied by x̂
  Weight weight = [](std::int64_t) { return 1.0; };  // how often a column counts in both
  bool rms_norm_subtracts = false;                   // the mean of g, as LayerNorm does
  double g_divisor = 0, gx_divisor = 0;              // of the sums; 0: cols
  bool over_rows = false;                            // both sums go over the column, not over the row
  std::int64_t parts = 1;                            // of a row, each with sums of its own
  std::function<std::int64_t(std::int64_t c)> part_of = [](std::int64_t) { return 0; };
  std::function<double(const Element&, double mean_g, double mean_gx)> dx = [](const Element& e, double mean_g,
                                                                               double mean_gx) {
    return e.rstd * (e.g() - mean_g - e.normalised * mean_gx);
  };
  std::function<bool(std::int64_t c)> writes_dx = [](std::int64_t) { return true; };
  Term dgamma = [](const Element& e) { return e.dy * e.normalised; };    // summed over the rows
  Term dbeta = [](const Element& e) { return e.dy; };                    // the same
  Weight row_weight = [](std::int64_t) { return 1.0; };                  // how often a row counts in both
  std::function<std::vector<Place>(std::int64_t c)> terms_of = nullptr;  // what is summed for c, if not column c
  double times_before = 1;                                               // how often what is there is added
  enum class Sums { right, exchanged, mixed_in_a_tile, zero } sums = Sums::right;
  bool writes_dgamma = true, writes_dbeta = true;
  bool dgamma_of_dx = false;  // dx stands where dy should
};

// ---- the catalogue

void add_dx(std::vector<Mistaken>& all, const BackwardCase& input, std::int64_t threads, bool in_place) {
  const std::int64_t cols = input.forward.cols, rows = input.forward.rows;
  const bool centred = input.norm == Norm::layer_norm;
  // In the formula
  const Term dy = [](const Element& e) { return e.dy; };
  const Term dy_times_normalised = [](const Element& e) { return e.dy * e.normalised; };
  all.push_back({.mistake = "gamma_outside_the_mean", .summed_g = dy, .summed_gx = dy_times_normalised});
  all.push_back({.mistake = "gamma_outside_the_mean", .summed_gx = dy_times_normalised});
  all.push_back({.mistake = "gamma_outside_the_mean", .only = Norm::layer_norm, .summed_g = dy});
  all.push_back({.mistake = "gamma_outside_the_mean",
                 .summed_g = dy,
                 .summed_gx = dy_times_normalised,
                 .dx = [](const Element& e, double mean_g, double mean_gx) {
                   return e.rstd * e.gamma * (e.dy - mean_g - e.normalised * mean_gx);
                 }});
  all.push_back({.mistake = "gamma_missing",
                 .summed_g = dy,
                 .summed_gx = dy_times_normalised,
                 .dx = [](const Element& e, double mean_g, double mean_gx) {
                   return e.rstd * (e.dy - mean_g - e.normalised * mean_gx);
                 }});
  if (in_place) {  // dy has become g by the time it is read again
    all.push_back({.mistake = "gamma_twice", .dx = [](const Element& e, double mean_g, double mean_gx) {
                     return e.rstd * (e.g() * e.gamma - mean_g - e.normalised * mean_gx);
                   }});
  }
  all.push_back({.mistake = "gamma_twice",
                 .summed_g = [](const Element& e) { return e.g() * e.gamma; },
                 .summed_gx = [](const Element& e) { return e.g() * e.gamma * e.normalised; },
                 .dx = [](const Element& e, double mean_g,
                          double mean_gx) { return e.rstd * (e.g() * e.gamma - mean_g - e.normalised * mean_gx); }});
  all.push_back({.mistake = "xhat_term_missing",
                 .dx = [](const Element& e, double mean_g, double) { return e.rstd * (e.g() - mean_g); }});
  all.push_back(
      {.mistake = "mean_of_g_missing", .only = Norm::layer_norm, .dx = [](const Element& e, double, double mean_gx) {
         return e.rstd * (e.g() - e.normalised * mean_gx);
       }});
  all.push_back({.mistake = "mean_of_g_twice",
                 .only = Norm::layer_norm,
                 .dx = [](const Element& e, double mean_g, double mean_gx) {
                   return e.rstd * (e.g() - 2 * mean_g - e.normalised * mean_gx);
                 }});
  all.push_back({.mistake = "rstd_missing", .dx = [](const Element& e, double mean_g, double mean_gx) {
                   return e.g() - mean_g - e.normalised * mean_gx;
                 }});
  all.push_back({.mistake = "rstd_missing", .normalised_for_dx = [](const Element& e) { return e.x - e.mean; }});
  all.push_back({.mistake = "mean_not_subtracted", .only = Norm::layer_norm, .normalised_for_dx = [](const Element& e) {
                   return e.x * e.rstd;
                 }});
  all.push_back({.mistake = "layer_norm_for_rms_norm", .only = Norm::rms_norm, .rms_norm_subtracts = true});
  all.push_back({.mistake = "layer_norm_for_rms_norm",
                 .only = Norm::rms_norm,
                 .dx = [](const Element& e, double, double mean_gx) {
                   return e.rstd * (e.g() - mean_gx - e.normalised * mean_gx);
                 }});
  all.push_back({.mistake = "null_gamma_is_zero", .dx = [&input](const Element& e, double mean_g, double mean_gx) {
                   return input.forward.gamma.empty() ? 0 : e.rstd * (e.g() - mean_g - e.normalised * mean_gx);
                 }});
  // In the sums
  const auto divided = [&](std::string_view mistake, double divisor) {
    if (centred) all.push_back({.mistake = mistake, .g_divisor = divisor});
    all.push_back({.mistake = mistake, .gx_divisor = divisor});
    all.push_back({.mistake = mistake, .g_divisor = divisor, .gx_divisor = divisor});
  };
  divided("means_over_n_minus_1", static_cast<double>(cols - 1));
  divided("means_over_rows", static_cast<double>(rows));
  divided("sums_not_divided", 1);
  all.push_back({.mistake = "transposed_reduction",
                 .g_divisor = static_cast<double>(rows),
                 .gx_divisor = static_cast<double>(rows),
                 .over_rows = true});
  all.push_back({.mistake = "transposed_reduction", .over_rows = true});
  for (const std::int64_t length : padded_lengths(cols, threads))
    divided("zero_padded_lanes", static_cast<double>(length));
  for (const Counted& counted : wrong_counts(cols, threads)) {
    // A row that is all tail has sums of 0, which is what missing terms give; those have names of their own.
    if (counted.mistake == "tail_dropped" && counted.weight(0) == 0) continue;
    all.push_back({.mistake = counted.mistake, .weight = counted.weight});
    if (counted.mistake != "tail_dropped") continue;
    all.push_back({.mistake = counted.mistake,
                   .weight = counted.weight,
                   .writes_dx = [weight = counted.weight](std::int64_t c) { return weight(c) != 0; }});
  }
  for (const Dealt& dealt : deals(threads)) {
    if (threads <= 32) continue;
    all.push_back(
        {.mistake = "own_warp_only", .parts = threads / 32, .part_of = [=](std::int64_t c) { return dealt.warp(c); }});
  }
  for (const std::int64_t end : short_ends(cols, threads)) {
    if (end == 0) continue;  // nothing is written at all
    all.push_back({.mistake = "tail_not_written", .writes_dx = [=](std::int64_t c) { return c < end; }});
  }
}

void add_sums(std::vector<Mistaken>& all, const BackwardCase& input, bool in_place) {
  const std::int64_t rows = input.forward.rows, cols = input.forward.cols;
  const bool centred = input.norm == Norm::layer_norm;
  all.push_back({.mistake = "dgamma_from_x", .dgamma = [](const Element& e) { return e.dy * e.x; }});
  all.push_back({.mistake = "gamma_in_dgamma", .dgamma = [](const Element& e) { return e.g() * e.normalised; }});
  all.push_back({.mistake = "gamma_in_dgamma",
                 .dgamma = [](const Element& e) { return e.g() * e.normalised; },
                 .dbeta = [](const Element& e) { return e.g(); }});
  const Term one = [](const Element&) { return 1.0; };
  all.push_back({.mistake = "dy_missing", .dgamma = [](const Element& e) { return e.normalised; }});
  all.push_back({.mistake = "dy_missing", .dgamma = [](const Element& e) { return e.normalised; }, .dbeta = one});
  if (centred) {
    all.push_back({.mistake = "dy_missing", .dbeta = one});
    all.push_back({.mistake = "rstd_missing", .normalised_for_dgamma = [](const Element& e) { return e.x - e.mean; }});
    all.push_back({.mistake = "rstd_missing",
                   .normalised_for_dx = [](const Element& e) { return e.x - e.mean; },
                   .normalised_for_dgamma = [](const Element& e) { return e.x - e.mean; }});
    all.push_back(
        {.mistake = "mean_not_subtracted", .normalised_for_dgamma = [](const Element& e) { return e.x * e.rstd; }});
    all.push_back({.mistake = "mean_not_subtracted",
                   .normalised_for_dx = [](const Element& e) { return e.x * e.rstd; },
                   .normalised_for_dgamma = [](const Element& e) { return e.x * e.rstd; }});
    all.push_back({.mistake = "dgamma_dbeta_swapped", .sums = Mistaken::Sums::exchanged});
  }
  if (in_place) all.push_back({.mistake = "dgamma_from_dx", .dgamma_of_dx = true});
  all.push_back({.mistake = "accumulate_ignored", .times_before = 0});
  all.push_back({.mistake = "accumulate_twice", .times_before = 2});
  // Which rows are counted. Slab s has the rows s, s + slabs, s + 2·slabs …
  const std::int64_t slabs = slabs_for(rows, cols).slabs;
  const auto kept = [&](const std::function<bool(std::int64_t r)>& keeps) {
    all.push_back({.mistake = "rows_dropped", .row_weight = [=](std::int64_t r) { return keeps(r) ? 1.0 : 0.0; }});
  };
  std::set<std::int64_t> ends = {rows - 1, rows - slabs, rows / slabs * slabs};
  for (const std::int64_t unit : {4, 32, 64, 128, 256}) ends.insert(rows - rows % unit);
  for (const std::int64_t end : ends) kept([=](std::int64_t r) { return r < end; });
  for (const std::int64_t first : {std::int64_t{1}, slabs}) kept([=](std::int64_t r) { return r >= first; });
  for (const std::int64_t end : {slabs - 1, slabs / 32 * 32, std::int64_t{1}, std::int64_t{32}}) {
    kept([=](std::int64_t r) { return r % slabs < end; });
  }
  // Sums over the wrong index.
  for (const std::int64_t columns : {cols, std::min(rows, cols)}) {  // of row c: all, or as many as there are rows
    all.push_back({.mistake = "transposed_reduction", .terms_of = [=](std::int64_t c) {
                     std::vector<Place> places;
                     for (std::int64_t k = 0; c < rows && k < columns; ++k) places.push_back({c, k, c});
                     return places;
                   }});
  }
  for (const bool own_statistics : {true, false}) {  // element [c][r] of a matrix [cols][rows]
    all.push_back({.mistake = "transposed_reduction", .terms_of = [=](std::int64_t c) {
                     std::vector<Place> places;
                     for (std::int64_t r = 0; r < rows; ++r) {
                       const std::int64_t i = c * rows + r;
                       places.push_back({i / cols, i % cols, own_statistics ? i / cols : r});
                     }
                     return places;
                   }});
  }
  all.push_back({.mistake = "transposed_reduction", .sums = Mistaken::Sums::mixed_in_a_tile});
}

void add_wrong_rows(std::vector<Mistaken>& all, std::int64_t rows) {
  const RowFor other_rows[] = {
      [=](std::int64_t r) { return std::min(r + 1, rows - 1); },
      [](std::int64_t r) { return std::max<std::int64_t>(r - 1, 0); },
      [=](std::int64_t r) { return (r + 1) % rows; },
      [=](std::int64_t r) { return (r + rows - 1) % rows; },
      [](std::int64_t r) { return r / 2 * 2; },  // a block of two rows
  };
  for (const RowFor& other : other_rows) {
    all.push_back({.mistake = "row_off_by_one", .x_from = other});
    all.push_back({.mistake = "row_off_by_one", .dy_from = other});
    all.push_back({.mistake = "row_off_by_one", .mean_from = other});
    all.push_back({.mistake = "row_off_by_one", .rstd_from = other});
    all.push_back({.mistake = "row_off_by_one", .mean_from = other, .rstd_from = other});
    all.push_back({.mistake = "row_off_by_one", .x_from = other, .dy_from = other});
    all.push_back({.mistake = "row_off_by_one", .x_from = other, .mean_from = other, .rstd_from = other});
    all.push_back(
        {.mistake = "row_off_by_one", .x_from = other, .dy_from = other, .mean_from = other, .rstd_from = other});
  }
}

std::vector<Mistaken> mistakes_of(const BackwardCase& input, std::int64_t threads, const BackwardRunOptions& options) {
  std::vector<Mistaken> all;
  const std::function<bool(std::int64_t)> nothing = [](std::int64_t) { return false; };
  const std::function<bool(std::int64_t)> everything = [](std::int64_t) { return true; };
  for (int written = 0; written < 7; ++written) {  // dx, dgamma, dbeta: every choice but all three
    const bool dx = (written & 1) != 0, dgamma = (written & 2) != 0, dbeta = (written & 4) != 0;
    if (options.accumulate && !(dgamma && dbeta)) continue;  // what is there is no poison
    all.push_back({.mistake = "never_written",
                   .writes_dx = dx ? everything : nothing,
                   .writes_dgamma = dgamma,
                   .writes_dbeta = dbeta});
  }
  const auto zero = [](const Element&, double, double) { return 0.0; };
  all.push_back({.mistake = "all_zeros", .dx = zero});
  all.push_back({.mistake = "all_zeros", .sums = Mistaken::Sums::zero});
  all.push_back({.mistake = "all_zeros", .dx = zero, .sums = Mistaken::Sums::zero});
  add_dx(all, input, threads, options.in_place);
  add_sums(all, input, options.in_place);
  add_wrong_rows(all, input.forward.rows);
  std::erase_if(all, [&](const Mistaken& m) { return m.only.has_value() && *m.only != input.norm; });
  return all;
}

// ---- whether one fits

/// A prediction of all outputs, each with the kernel's own roundings around it: four times the bounds of backward.h, of
/// the mistaken terms, because a mistaken kernel may round in other places.
struct Prediction {
  std::vector<double> dx, dx_tolerance, dgamma, dgamma_tolerance, dbeta, dbeta_tolerance;
};

class Predictor {
public:
  Predictor(const BackwardCase& input, BackwardSummation summation, const BackwardRunOptions& options)
      : input_(input), options_(options), d_(longest_chain(summation.row)), l_(longest_chain(summation.column)) {}

  Prediction of(const Mistaken& mistaken) const {
    Prediction result;
    if (options_.dx || mistaken.dgamma_of_dx) add_dx(mistaken, result);
    if (options_.dgamma || options_.dbeta) add_sums(mistaken, result);
    return result;
  }

private:
  std::int64_t rows() const { return input_.forward.rows; }
  std::int64_t cols() const { return input_.forward.cols; }
  Element element(const Mistaken& mistaken, std::int64_t r, std::int64_t c, const Term& normalised) const {
    const auto at = [&](const RowFor& from) { return static_cast<std::size_t>(from(r) * cols() + c); };
    Element e{r,
              c,
              input_.forward.x[at(mistaken.x_from)],
              input_.dy[at(mistaken.dy_from)],
              input_.forward.gamma.empty() ? 1.0 : input_.forward.gamma[static_cast<std::size_t>(c)],
              input_.mean.empty() ? 0.0 : input_.mean[static_cast<std::size_t>(mistaken.mean_from(r))],
              input_.rstd[static_cast<std::size_t>(mistaken.rstd_from(r))],
              0};
    e.normalised = normalised(e);
    return e;
  }

  struct Means {
    double g = 0, gx = 0, sizes_g = 0, sizes_gx = 0;
  };
  void add_dx(const Mistaken& mistaken, Prediction& result) const {
    const double g_divisor = mistaken.g_divisor == 0 ? static_cast<double>(cols()) : mistaken.g_divisor;
    const double gx_divisor = mistaken.gx_divisor == 0 ? static_cast<double>(cols()) : mistaken.gx_divisor;
    const auto add = [&](Means& means, const Element& e) {
      const double times = mistaken.weight(e.c);
      if (times == 0) return;
      const double g = times * mistaken.summed_g(e) / g_divisor, gx = times * mistaken.summed_gx(e) / gx_divisor;
      means.g += g, means.sizes_g += std::abs(g), means.gx += gx, means.sizes_gx += std::abs(gx);
    };
    std::vector<Means> of_columns;
    if (mistaken.over_rows) {
      of_columns.resize(static_cast<std::size_t>(cols()));
      for (std::int64_t r = 0; r < rows(); ++r) {
        for (std::int64_t c = 0; c < cols(); ++c) {
          add(of_columns[static_cast<std::size_t>(c)], element(mistaken, r, c, mistaken.normalised_for_dx));
        }
      }
    }
    const bool subtracts = input_.norm == Norm::layer_norm || mistaken.rms_norm_subtracts;
    for (std::int64_t r = 0; r < rows(); ++r) {
      std::vector<Means> parts(static_cast<std::size_t>(mistaken.parts));
      for (std::int64_t c = 0; c < cols() && !mistaken.over_rows; ++c) {
        add(parts[static_cast<std::size_t>(mistaken.part_of(c))], element(mistaken, r, c, mistaken.normalised_for_dx));
      }
      for (std::int64_t c = 0; c < cols(); ++c) {
        Means means = mistaken.over_rows ? of_columns[static_cast<std::size_t>(c)]
                                         : parts[static_cast<std::size_t>(mistaken.part_of(c))];
        if (!subtracts) means.g = means.sizes_g = 0;
        const Element e = element(mistaken, r, c, mistaken.normalised_for_dx);
        const double dx = mistaken.writes_dx(c) ? mistaken.dx(e, means.g, means.gx) : not_written;
        const double scale = std::max(1.0, e.rstd) * std::max(1.0, std::abs(e.gamma));
        const double sizes = 4 * std::abs(e.dy) + 4 * std::abs(e.g()) + (d_ + 5) * means.sizes_g +
                             (d_ + 10) * means.sizes_gx * (1 + std::abs(e.normalised));
        result.dx.push_back(dx);
        result.dx_tolerance.push_back(dx == not_written ? 0 : 4 * u * (scale * sizes + std::abs(dx)));
      }
    }
  }

  void add_sums(const Mistaken& mistaken, Prediction& result) const {
    std::vector<double> dgamma, dbeta, dgamma_sizes, dbeta_sizes;
    for (std::int64_t c = 0; c < cols(); ++c) {
      double sums[2] = {}, sizes[2] = {};
      const auto add = [&](const Place& place) {
        const auto& [r, column, statistics] = place;
        Element e = element(mistaken, r, column, mistaken.normalised_for_dgamma);
        if (statistics != r) {
          const Element other = element(mistaken, statistics, 0, mistaken.normalised_for_dgamma);
          e.mean = other.mean, e.rstd = other.rstd;
          e.normalised = mistaken.normalised_for_dgamma(e);
        }
        if (mistaken.dgamma_of_dx) e.dy = result.dx[static_cast<std::size_t>(r * cols() + column)];
        const double terms[2] = {mistaken.row_weight(r) * mistaken.dgamma(e),
                                 mistaken.row_weight(r) * mistaken.dbeta(e)};
        for (int k = 0; k < 2; ++k) sums[k] += terms[k], sizes[k] += std::abs(terms[k]);
      };
      if (mistaken.terms_of) {
        for (const Place& place : mistaken.terms_of(c)) add(place);
      } else {
        for (std::int64_t r = 0; r < rows(); ++r) add({r, c, r});
      }
      dgamma.push_back(sums[0]), dgamma_sizes.push_back(sizes[0]);
      dbeta.push_back(sums[1]), dbeta_sizes.push_back(sizes[1]);
    }
    if (mistaken.sums == Mistaken::Sums::exchanged) {
      std::swap(dgamma, dbeta);
      std::swap(dgamma_sizes, dbeta_sizes);
    }
    if (mistaken.sums == Mistaken::Sums::mixed_in_a_tile)
      mix_in_a_tile(mistaken, dgamma, dbeta, dgamma_sizes, dbeta_sizes);
    const double before = options_.accumulate ? mistaken.times_before * static_cast<double>(options_.before) : 0;
    const auto finish = [&](std::vector<double>& values, const std::vector<double>& sizes,
                            std::vector<double>& tolerance, bool writes) {
      for (std::size_t c = 0; c < values.size(); ++c) {
        if (mistaken.sums == Mistaken::Sums::zero) values[c] = 0;
        values[c] = writes ? values[c] + before : not_written;
        tolerance.push_back(4 * u * ((l_ + 2) * sizes[c] + std::abs(before)));
      }
    };
    finish(dgamma, dgamma_sizes, result.dgamma_tolerance, mistaken.writes_dgamma);
    finish(dbeta, dbeta_sizes, result.dbeta_tolerance, mistaken.writes_dbeta);
    result.dgamma = std::move(dgamma);
    result.dbeta = std::move(dbeta);
  }

  /// The second stage of 07.2 without the transposition in its tile: each warp adds up its own row of the tile, 32
  /// neighbouring columns of [dγ | dβ] of the slabs that leave the same rest on division by 32.
  void mix_in_a_tile(const Mistaken& mistaken, std::vector<double>& dgamma, std::vector<double>& dbeta,
                     std::vector<double>& dgamma_sizes, std::vector<double>& dbeta_sizes) const {
    const std::int64_t slabs = slabs_for(rows(), cols()).slabs;
    const std::int64_t width = input_.norm == Norm::layer_norm ? 2 * cols() : cols();
    const std::int64_t lines = std::min<std::int64_t>(32, slabs);
    std::vector<double> part(static_cast<std::size_t>(lines * width));  // [slab mod 32][column]
    std::vector<double> part_sizes(part.size());
    for (std::int64_t r = 0; r < rows(); ++r) {
      for (std::int64_t c = 0; c < cols(); ++c) {
        const Element e = element(mistaken, r, c, normalised);
        const auto add = [&](std::int64_t column, double term) {
          const auto i = static_cast<std::size_t>(r % slabs % 32 * width + column);
          part[i] += term, part_sizes[i] += std::abs(term);
        };
        add(c, e.dy * e.normalised);
        if (width > cols()) add(cols() + c, e.dy);
      }
    }
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t first = column / 32 * 32, line = column % 32;
      double sum = 0, sizes = 0;
      for (std::int64_t k = first; line < lines && k < std::min(first + 32, width); ++k) {
        sum += part[static_cast<std::size_t>(line * width + k)];
        sizes += part_sizes[static_cast<std::size_t>(line * width + k)];
      }
      const auto c = static_cast<std::size_t>(column % cols());
      (column < cols() ? dgamma : dbeta)[c] = sum;
      (column < cols() ? dgamma_sizes : dbeta_sizes)[c] = sizes;
    }
  }

  const BackwardCase& input_;
  const BackwardRunOptions& options_;
  double d_, l_;
};

/// The case with dx, dgamma and dbeta asked for as the result has them.
BackwardRunOptions asked_for(const BackwardResult& got, BackwardRunOptions options) {
  options.dx = !got.dx.empty();
  options.dgamma = !got.dgamma.empty();
  options.dbeta = !got.dbeta.empty();
  return options;
}

class Judge {
public:
  Judge(const BackwardResult& got, const BackwardCase& input, BackwardSummation summation,
        const BackwardRunOptions& options)
      : got_(got),
        options_(asked_for(got, options)),
        predictor_(input, summation, options_),
        right_(predictor_.of({.mistake = ""})),
        bound_(norm_backward_tolerance(input, summation)) {
    if (!options.accumulate) return;
    for (std::size_t c = 0; c < bound_.dgamma.size(); ++c) bound_.dgamma[c] += u * std::abs(right_.dgamma[c]);
    for (std::size_t c = 0; c < bound_.dbeta.size(); ++c) bound_.dbeta[c] += u * std::abs(right_.dbeta[c]);
  }

  Fit fit(const Mistaken& mistaken) const {
    const Prediction predicted = predictor_.of(mistaken);
    Fit fit;
    const auto add = [&](const std::vector<float>& got, const std::vector<double>& values,
                         const std::vector<double>& tolerance, const std::vector<double>& right,
                         const std::vector<double>& bound) {
      for (std::size_t i = 0; i < got.size() && fit.agrees; ++i) {
        if (std::isfinite(right[i])) fit.add(got[i], values[i], tolerance[i], right[i], bound[i]);
      }
    };
    add(got_.dx, predicted.dx, predicted.dx_tolerance, right_.dx, bound_.dx);
    add(got_.dgamma, predicted.dgamma, predicted.dgamma_tolerance, right_.dgamma, bound_.dgamma);
    add(got_.dbeta, predicted.dbeta, predicted.dbeta_tolerance, right_.dbeta, bound_.dbeta);
    return fit;
  }

  /// Whether all outputs are within this many times their bounds, with so much more allowed to each.
  bool is_right(double times, const Prediction* more = nullptr) const {
    const auto within = [&](const std::vector<float>& got, const std::vector<double>& right,
                            const std::vector<double>& bound, const std::vector<double>* extra) {
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double allowed = times * bound[i] + (extra == nullptr ? 0 : (*extra)[i]);
        if (std::isfinite(right[i]) && !(std::abs(got[i] - right[i]) <= allowed)) return false;
      }
      return true;
    };
    return within(got_.dx, right_.dx, bound_.dx, more == nullptr ? nullptr : &more->dx_tolerance) &&
           within(got_.dgamma, right_.dgamma, bound_.dgamma, more == nullptr ? nullptr : &more->dgamma_tolerance) &&
           within(got_.dbeta, right_.dbeta, bound_.dbeta, more == nullptr ? nullptr : &more->dbeta_tolerance);
  }

private:
  const BackwardResult& got_;
  BackwardRunOptions options_;
  Predictor predictor_;
  Prediction right_;
  BackwardTolerance bound_;
};

// ---- the probe, and what shows only on some rows

/// The same shape and the same nulls, with rows around this mean and random gamma and dy.
BackwardCase probe_of(const BackwardCase& input, double mean) {
  Random random(0x5eed);
  NormCase forward = input.forward;
  forward.eps = 0.5f;
  fill_probe(forward.x, forward.cols, mean, random);
  for (float& gamma : forward.gamma) gamma = static_cast<float>(random.uniform(-2, 2));
  return make_backward_case(input.norm, std::move(forward), random.bits());
}

constexpr double probe_mean = 1.5, far_mean = 1000;

/// What x̂ = x · rstd − mean · rstd adds to the errors: each x̂ is off by e = 3u·|x|·rstd, where x is as large as the
/// row's largest.
Prediction of_a_folded_product(const BackwardCase& input) {
  const auto rows = static_cast<std::size_t>(input.forward.rows), cols = static_cast<std::size_t>(input.forward.cols);
  Prediction more{.dx = {},
                  .dx_tolerance = {},
                  .dgamma = {},
                  .dgamma_tolerance = std::vector<double>(cols),
                  .dbeta = {},
                  .dbeta_tolerance = std::vector<double>(cols)};
  for (std::size_t r = 0; r < rows; ++r) {
    const double rstd = input.rstd[r], mean = input.mean[r];
    double largest = std::abs(mean), g_sum = 0, gx_sum = 0;
    const auto g = [&](std::size_t c) {
      return std::abs(input.dy[r * cols + c] * (input.forward.gamma.empty() ? 1.0 : input.forward.gamma[c]));
    };
    const auto size = [&](std::size_t c) { return std::abs(input.forward.x[r * cols + c] - mean) * rstd; };
    for (std::size_t c = 0; c < cols; ++c) {
      largest = std::max(largest, std::abs(double{input.forward.x[r * cols + c]}));
      g_sum += g(c), gx_sum += g(c) * size(c);
    }
    const double e = 3 * u * largest * rstd, n = static_cast<double>(cols);
    for (std::size_t c = 0; c < cols; ++c) {
      more.dx_tolerance.push_back(rstd * e * (gx_sum + (size(c) + e) * g_sum) / n);
      more.dgamma_tolerance[c] += e * std::abs(input.dy[r * cols + c]);
    }
  }
  return more;
}

bool is_folded(const BackwardResult& got, const BackwardCase& input, BackwardSummation summation,
               const BackwardRunOptions& options, const RunBackward& again) {
  if (input.norm != Norm::layer_norm) return false;
  const auto explained = [&](const BackwardResult& result, const BackwardCase& of) {
    const Prediction more = of_a_folded_product(of);
    return Judge(result, of, summation, options).is_right(1, &more);
  };
  if (!explained(got, input)) return false;
  if (!again) {  // then the offset must be one that explains a lot
    for (std::size_t r = 0; r < input.mean.size(); ++r) {
      if (std::abs(input.mean[r]) * input.rstd[r] >= 8) return true;
    }
    return false;
  }
  const BackwardCase far = probe_of(input, far_mean);
  const BackwardResult of_far = again(far);
  return !Judge(of_far, far, summation, options).is_right(1) && explained(of_far, far);
}

LikelyMistakes fitting(const BackwardResult& got, const BackwardCase& input, BackwardSummation summation,
                       const BackwardRunOptions& options, const RunBackward& again) {
  const BackwardCase probe = probe_of(input, probe_mean);
  const std::optional<BackwardResult> probed = result_on(probe, again);
  const Judge on_case(got, input, summation, options);
  std::optional<Judge> on_probe;
  if (probed.has_value()) on_probe.emplace(*probed, probe, summation, options);
  if (on_probe.has_value() && on_probe->is_right(2)) {
    const bool folded = is_folded(got, input, summation, options, again);
    return folded ? LikelyMistakes{"xhat_folded"} : LikelyMistakes{};
  }
  const LikelyMistakes names = names_that_fit(mistakes_of(input, summation.row.threads, options), on_case, on_probe);
  if (names.empty() && !on_probe.has_value() && is_folded(got, input, summation, options, nullptr)) {
    return {"xhat_folded"};
  }
  return at_most_two(names);
}

}  // namespace

LikelyMistakes likely_mistakes(const BackwardResult& got, const BackwardCase& input, BackwardSummation summation,
                               BackwardRunOptions options, const RunBackward& again) {
  try {
    return fitting(got, input, summation, options, again);
  } catch (const std::exception&) {
    return {};  // the diagnosis is an extra: whatever it meets, the verdict stands
  }
}

}  // namespace testing
