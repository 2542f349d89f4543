// The diagnosis: each known mistake is named, rounding is not taken for one, and never more than two are named.
#include <testing/diagnosis_states.h>

#include <host/device_buffer.h>
#include <testing/fit.h>
#include <testing/random.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using testing::BackwardCase;
using testing::BackwardResult;
using testing::BackwardRunOptions;
using testing::Data;
using testing::LikelyMistakes;
using testing::NormCase;
using testing::NormResult;
using testing::Summation;

namespace {

const float poison = DeviceBuffer<float>("poison", 1).download()[0];
/// What a wrong kernel stores; poison where it stores nothing.
constexpr double unwritten = testing::not_written;
float stored(double value) { return value == unwritten ? poison : static_cast<float>(value); }

// ---- wrong kernels of the forward, in double, each written out

using Values = std::vector<double>;

double mean_of(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
double mean_square_about(double centre, const Values& values) {
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum / static_cast<double>(values.size());
}

/// A row and what belongs to it; a wrong kernel reads the inputs and writes the outputs.
struct Row {
  std::int64_t r;
  Values x, gamma, beta;
  double eps, n;
  double mean, variance, square;  // right ones: square is the mean of the squares
  Values y;
  double rstd = 0;

  void normalise() {
    y.clear();
    for (std::size_t c = 0; c < x.size(); ++c) y.push_back((x[c] - mean) * rstd * gamma[c] + beta[c]);
  }
};
using Kernel = std::function<void(Row&)>;

/// A kernel as a function of a case. RMSNorm has beta 0 and no mean.
testing::RunNorm run(const Kernel& kernel, Norm norm) {
  return [=](const NormCase& input) {
    NormResult result;
    const auto cols = static_cast<std::size_t>(input.cols);
    for (std::int64_t r = 0; r < input.rows; ++r) {
      const auto begin = input.x.begin() + r * input.cols;
      Row row{.r = r,
              .x = {begin, begin + input.cols},
              .gamma = Values(cols, 1.0),
              .beta = Values(cols, 0.0),
              .eps = input.eps,
              .n = static_cast<double>(input.cols),
              .mean = 0,
              .variance = 0,
              .square = 0,
              .y = {}};
      if (!input.gamma.empty()) row.gamma.assign(input.gamma.begin(), input.gamma.end());
      if (!input.beta.empty() && norm == Norm::layer_norm) row.beta.assign(input.beta.begin(), input.beta.end());
      row.square = mean_square_about(0, row.x);
      row.mean = norm == Norm::rms_norm ? 0 : mean_of(row.x);
      row.variance = mean_square_about(row.mean, row.x);
      row.rstd = 1 / std::sqrt(row.variance + row.eps);
      row.normalise();
      kernel(row);
      for (const double y : row.y) result.y.push_back(stored(y));
      if (norm == Norm::layer_norm) result.mean.push_back(static_cast<float>(row.mean));
      result.rstd.push_back(static_cast<float>(row.rstd));
    }
    return result;
  };
}

LikelyMistakes diagnosis(const testing::RunNorm& kernel, const NormCase& input, Summation summation, Norm norm) {
  return testing::likely_mistakes(kernel(input), input, summation, norm, kernel);
}
const Summation block = {1, 256};  // of a row of 100 to 256 columns

/// What is named on rows of 100 columns, the same whether they lie near 0 or far from it.
LikelyMistakes named(const Kernel& kernel, Norm norm = Norm::layer_norm) {
  const LikelyMistakes near = diagnosis(run(kernel, norm), testing::make_case(3, 100, Data::centred, 1), block, norm);
  const LikelyMistakes far = diagnosis(run(kernel, norm), testing::make_case(3, 100, Data::offset_10, 2), block, norm);
  CHECK(near == far);
  return near;
}
LikelyMistakes only(const char* name) { return {name}; }

/// The statistics are those of the columns that keep, divided by n.
Kernel statistics_of(bool (*keep)(std::size_t c), bool by_n) {
  return [=](Row& row) {
    Values kept;
    for (std::size_t c = 0; c < row.x.size(); ++c)
      if (keep(c)) kept.push_back(row.x[c]);
    const double share = by_n ? static_cast<double>(kept.size()) / row.n : 1;
    row.mean = mean_of(kept) * share;
    row.rstd = 1 / std::sqrt(mean_square_about(row.mean, kept) * share + row.eps);
    row.normalise();
  };
}

}  // namespace

TEST_CASE("each mistake has a name of its own, and what to read is there") {
  std::set<std::string_view> names;
  for (const testing::Mistake& known : testing::mistakes()) {
    CAPTURE(known.name);
    CHECK(names.insert(known.name).second);
    CHECK(std::regex_match(std::string(known.name), std::regex("[a-z0-9_]+")));
    CHECK(&testing::mistake(known.name) == &known);
    std::ifstream file(std::string(LNH_SOURCE_DIR) + "/" + std::string(known.file));
    REQUIRE(file.good());
    bool found = false;
    for (std::string line; std::getline(file, line);) {
      found = found || std::regex_replace(line, std::regex("^#+ "), "") == known.section;
    }
    CHECK_MESSAGE(found, known.file << " has no heading " << known.section);
  }
  CHECK_THROWS_AS(testing::mistake("no_such_mistake"), std::invalid_argument);
}

TEST_CASE("the words: a line for each, or that none fits") {
  CHECK(testing::text(LikelyMistakes{"variance_over_n_minus_1"}) ==
        "likely mistake: the variance is divided by N − 1, not by N (variance_over_n_minus_1); read "
        "chapters/01_three_pass/README.md, Idea");
  CHECK(testing::text(LikelyMistakes{}) == "no known mistake fits");
  const std::string two = testing::text(LikelyMistakes{"eps_missing", "eps_added_to_n"});
  CHECK(std::count(two.begin(), two.end(), '\n') == 1);
}

TEST_CASE("a right kernel, and one that is wrong in an unknown way, have no known mistake") {
  CHECK(named([](Row&) {}).empty());
  Kernel noisy = [](Row& row) {
    testing::Random random(static_cast<std::uint64_t>(row.r));
    for (double& y : row.y) y += 0.01 * random.normal();
  };
  CHECK(named(noisy).empty());
  CHECK(named(noisy, Norm::rms_norm).empty());
  CHECK(named([](Row& row) { row.rstd *= 1.001, row.normalise(); }).empty());
  CHECK(named([](Row& row) { row.y[50] += 1; }).empty());
}

TEST_CASE("what stands under the root") {
  const auto with_rstd = [](double (*rstd)(const Row&)) -> Kernel {
    return [=](Row& row) { row.rstd = rstd(row), row.normalise(); };
  };
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    CAPTURE(static_cast<int>(norm));
    CHECK(named(with_rstd([](const Row& row) { return 1 / std::sqrt(row.variance * row.n / (row.n - 1) + row.eps); }),
                norm) == only("variance_over_n_minus_1"));
    CHECK(named(with_rstd([](const Row& row) { return 1 / (std::sqrt(row.variance) + row.eps); }), norm) ==
          only("eps_outside_the_root"));
    CHECK(named(with_rstd([](const Row& row) { return 1 / std::sqrt(row.variance); }), norm) == only("eps_missing"));
    CHECK(named(with_rstd([](const Row& row) { return 1 / std::sqrt(row.variance * row.n / (row.n + row.eps)); }),
                norm) == only("eps_added_to_n"));
    CHECK(named(with_rstd([](const Row& row) { return 1 / (row.variance + row.eps); }), norm) == only("no_root"));
    CHECK(named(with_rstd([](const Row& row) { return 1 / std::sqrt(row.variance * row.n + row.eps); }), norm) ==
          only("sums_not_divided"));
    CHECK(named([](Row& row) { row.rstd = row.variance; }, norm) == only("variance_for_rstd"));
  }
  CHECK(named([](Row& row) {
          row.mean *= row.n;
          row.rstd = 1 / std::sqrt(mean_square_about(row.mean, row.x) + row.eps);
          row.normalise();
        }) == only("sums_not_divided"));
  CHECK(named([](Row& row) { row.rstd = row.variance + row.eps; }) == only("variance_for_rstd"));
  CHECK(named(with_rstd([](const Row& row) { return row.variance; })) == only("variance_for_rstd"));
  CHECK(named(with_rstd([](const Row& row) { return row.variance + row.eps; })) == only("variance_for_rstd"));
  // No name: eps is missing where the variance is larger, and there alone.
  CHECK(named(with_rstd([](const Row& row) { return 1 / std::sqrt(std::max(row.variance, row.eps)); })).empty());
  for (const bool is_shifted : {false, true}) {  // E[x²] − E[x]², where one of the sums is not divided
    CHECK(named([=](Row& row) {
            const double origin = is_shifted ? row.x[0] : 0, sum = (row.mean - origin) * row.n;
            row.mean = origin + sum;
            row.rstd = 1 / std::sqrt(mean_square_about(origin, row.x) - sum * sum + row.eps);
            row.normalise();
          }) == only("sums_not_divided"));
    CHECK(named([=](Row& row) {
            const double origin = is_shifted ? row.x[0] : 0, mean = row.mean - origin;
            row.rstd = 1 / std::sqrt(mean_square_about(origin, row.x) * row.n - mean * mean + row.eps);
            row.normalise();
          }) == only("sums_not_divided"));
  }
  CHECK(named(with_rstd([](const Row& row) { return 1 / std::sqrt(row.square + row.eps); })) ==
        only("rms_norm_for_layer_norm"));
  CHECK(named(
            [](Row& row) {
              row.rstd = 1 / std::sqrt(mean_square_about(mean_of(row.x), row.x) + row.eps);
              row.normalise();
            },
            Norm::rms_norm) == only("layer_norm_for_rms_norm"));
}

TEST_CASE("which columns are counted") {
  CHECK(named(statistics_of([](std::size_t c) { return c < 99; }, false)) == only("tail_dropped"));
  CHECK(named(statistics_of([](std::size_t c) { return c < 99; }, true)) == only("tail_dropped"));
  CHECK(named(statistics_of([](std::size_t c) { return c / 32 != 1; }, false)) == only("warp_lost"));
  CHECK(named(statistics_of([](std::size_t c) { return c / 32 != 2; }, true)) == only("warp_lost"));
  CHECK(named(statistics_of([](std::size_t c) { return c < 32; }, true)) == only("first_warp_only"));
  CHECK(named(statistics_of([](std::size_t c) { return c % 2 == 0; }, true)) == only("step_lost"));
  CHECK(named(statistics_of([](std::size_t c) { return c % 16 < 8; }, false)) == only("step_lost"));
  CHECK(named([](Row& row) {  // each warp normalises its columns by their own statistics; thread 0 hands out its own
          Row first = row;
          for (std::size_t begin = 0; begin < row.x.size(); begin += 32) {
            Row part = row;
            const auto end = std::min(row.x.size(), begin + 32);
            const Values own(row.x.begin() + static_cast<std::ptrdiff_t>(begin),
                             row.x.begin() + static_cast<std::ptrdiff_t>(end));
            part.mean = mean_of(own);
            part.rstd = 1 / std::sqrt(mean_square_about(part.mean, own) + row.eps);
            part.normalise();
            std::copy_n(part.y.begin() + static_cast<std::ptrdiff_t>(begin), end - begin,
                        row.y.begin() + static_cast<std::ptrdiff_t>(begin));
            if (begin == 0) first = part;
          }
          row.mean = first.mean, row.rstd = first.rstd;
        }) == only("own_warp_only"));
  for (const std::size_t length : {128, 256}) {  // a row filled up with zeros: all of it counted, or a part
    const auto padded = [=](const Row& row) {
      Values x = row.x;
      x.resize(length);
      return x;
    };
    CHECK(named([=](Row& row) {
            const Values x = padded(row);
            row.mean = mean_of(x);
            row.rstd = 1 / std::sqrt(mean_square_about(row.mean, x) + row.eps);
            row.normalise();
          }) == only("zero_padded_lanes"));
    CHECK(named([=](Row& row) {  // the mean is right; (0 − mean)² of the zeros is in the variance
            const double squares = mean_square_about(row.mean, padded(row)) * static_cast<double>(length);
            row.rstd = 1 / std::sqrt(squares / row.n + row.eps);
            row.normalise();
          }) == only("zero_padded_lanes"));
  }
  CHECK(named([](Row& row) { std::fill(row.y.begin() + 96, row.y.end(), unwritten); }) == only("tail_not_written"));
  CHECK(named([](Row& row) {  // sums of x − x[0], without the last column
          const double origin = row.x[0], last = row.x.back() - origin;
          const double mean = row.mean - origin - last / row.n;
          row.mean = origin + mean;
          row.rstd = 1 / std::sqrt(mean_square_about(origin, row.x) - last * last / row.n - mean * mean + row.eps);
          row.normalise();
        }) == only("tail_dropped"));
}

TEST_CASE("the floats of a four in another order, and a step that is too short") {
  const std::vector<std::vector<std::size_t>> orders = {{0, 2, 1, 3}, {3, 2, 1, 0}, {1, 2, 3, 0}, {0, 1, 2, 2}};
  for (const auto& order : orders) {
    CAPTURE(order);
    const auto place = [&](std::size_t c) { return c / 4 * 4 + order[c % 4]; };
    CHECK(named([&](Row& row) {  // as they are stored
            const Values right = row.y;
            for (std::size_t c = 0; c < right.size(); ++c) row.y[c] = right[place(c)];
          }) == only("fours_in_another_order"));
    CHECK(named([&](Row& row) {  // as they are loaded, gamma and beta as well
            const Row right = row;
            for (std::size_t c = 0; c < right.x.size(); ++c) {
              row.x[c] = right.x[place(c)], row.gamma[c] = right.gamma[place(c)], row.beta[c] = right.beta[place(c)];
            }
            row.mean = mean_of(row.x);
            row.rstd = 1 / std::sqrt(mean_square_about(row.mean, row.x) + row.eps);
            row.normalise();
          }) == only("fours_in_another_order"));
  }
  // 256 threads read fours and go on by 512 columns, not by 1024: the columns from 512 on are met by two threads.
  const testing::RunNorm short_step = run(
      [](Row& row) {
        Values counted = row.x;
        counted.insert(counted.end(), row.x.begin() + 512, row.x.end());
        row.mean = mean_of(counted);
        row.rstd = 1 / std::sqrt(mean_square_about(row.mean, counted) + row.eps);
        row.normalise();
      },
      Norm::layer_norm);
  CHECK(diagnosis(short_step, testing::make_case(3, 1000, Data::offset_10, 11), block, Norm::layer_norm) ==
        only("counted_twice"));
}

TEST_CASE("only thread 0 is given the result") {
  // One warp a row, in each of the orders of its steps. A shuffle from outside of the warp gives a lane its own state.
  for (const std::vector<int>& distances : {std::vector<int>{1, 2, 4, 8, 16}, std::vector<int>{16, 8, 4, 2, 1}}) {
    const testing::RunNorm kernel = run(
        [&](Row& row) {
          std::vector<Values> lanes(32);
          for (std::size_t c = 0; c < row.x.size(); ++c) lanes[c % 32].push_back(row.x[c]);
          for (const int distance : distances) {
            const std::vector<Values> before = lanes;
            for (int lane = 0; lane < 32; ++lane) {
              const Values& other = before[lane + distance < 32 ? lane + distance : lane];
              lanes[lane].insert(lanes[lane].end(), other.begin(), other.end());
            }
          }
          for (std::size_t c = 0; c < row.x.size(); ++c) {
            const double mean = mean_of(lanes[c % 32]);
            const double rstd = 1 / std::sqrt(mean_square_about(mean, lanes[c % 32]) + row.eps);
            row.y[c] = (row.x[c] - mean) * rstd * row.gamma[c] + row.beta[c];
          }
        },
        Norm::layer_norm);
    CHECK(diagnosis(kernel, testing::make_case(3, 100, Data::offset_10, 12), {4, 32}, Norm::layer_norm) ==
          only("sum_for_thread_0_only"));
  }
  // A block of 256 threads and one column for each: after the tree slot i holds the columns i, i + 2ᵏ, i + 2 · 2ᵏ …,
  // with the smallest 2ᵏ above i.
  const testing::RunNorm slots = run(
      [](Row& row) {
        for (std::size_t thread = 0; thread < row.x.size(); ++thread) {
          std::size_t period = 1;
          while (period <= thread) period *= 2;
          Values slot;
          for (std::size_t c = thread; c < row.x.size(); c += period) slot.push_back(row.x[c]);
          const double share = static_cast<double>(slot.size()) / row.n, mean = mean_of(slot) * share;
          const double rstd = 1 / std::sqrt(mean_square_about(mean, slot) * share + row.eps);
          row.y[thread] = (row.x[thread] - mean) * rstd * row.gamma[thread] + row.beta[thread];
        }
      },
      Norm::layer_norm);
  CHECK(diagnosis(slots, testing::make_case(3, 256, Data::offset_10, 13), block, Norm::layer_norm) ==
        only("sum_for_thread_0_only"));
}

TEST_CASE("which row, and which output") {
  for (const std::int64_t step : {1, -1}) {  // the next row's statistics, or those of the row before
    const testing::RunNorm kernel = [=](const NormCase& input) {
      const NormResult right = run([](Row&) {}, Norm::layer_norm)(input);
      NormResult result = right;
      for (std::int64_t r = 0; r < input.rows; ++r) {
        const auto other = static_cast<std::size_t>(std::clamp<std::int64_t>(r + step, 0, input.rows - 1));
        for (std::int64_t c = 0; c < input.cols; ++c) {
          const auto i = static_cast<std::size_t>(r * input.cols + c), column = static_cast<std::size_t>(c);
          result.y[i] = static_cast<float>(
              (double{input.x[i]} - right.mean[other]) * right.rstd[other] * input.gamma[column] + input.beta[column]);
        }
      }
      return result;
    };
    CHECK(diagnosis(kernel, testing::make_case(3, 100, Data::offset_10, 3), block, Norm::layer_norm) ==
          only("row_off_by_one"));
  }
  for (const bool is_written : {false, true}) {  // blocks of two rows: the second is skipped, or the first in its place
    const testing::RunNorm kernel = [=](const NormCase& input) {
      NormResult result = run([](Row&) {}, Norm::layer_norm)(input);
      for (std::size_t r = 1; r < result.mean.size(); r += 2) {
        result.mean[r] = is_written ? result.mean[r - 1] : poison;
        result.rstd[r] = is_written ? result.rstd[r - 1] : poison;
        const auto y = result.y.begin() + static_cast<std::ptrdiff_t>(r) * input.cols;
        if (is_written) {
          std::copy(y - input.cols, y, y);
        } else {
          std::fill(y, y + input.cols, poison);
        }
      }
      return result;
    };
    CHECK(diagnosis(kernel, testing::make_case(5, 100, Data::offset_10, 3), block, Norm::layer_norm) ==
          only(is_written ? "row_off_by_one" : "never_written"));
  }
  CHECK(named([](Row& row) { std::fill(row.y.begin(), row.y.end(), unwritten); }) == only("never_written"));
  CHECK(named([](Row& row) { std::fill(row.y.begin(), row.y.end(), 0.0); }) == only("all_zeros"));
}

TEST_CASE("from x to y") {
  const auto with_y = [](double (*y)(const Row&, std::size_t c)) -> Kernel {
    return [=](Row& row) {
      for (std::size_t c = 0; c < row.x.size(); ++c) row.y[c] = y(row, c);
    };
  };
  CHECK(named(with_y([](const Row& row, std::size_t c) { return (row.x[c] - row.mean) * row.rstd * row.gamma[c]; })) ==
        only("beta_missing"));
  CHECK(named(with_y([](const Row& row, std::size_t c) {
          return ((row.x[c] - row.mean) * row.rstd + row.beta[c]) * row.gamma[c];
        })) == only("gamma_scales_beta"));
  CHECK(named(with_y([](const Row& row, std::size_t c) { return (row.x[c] - row.mean) * row.rstd + row.beta[c]; })) ==
        only("gamma_missing"));
  CHECK(named(with_y([](const Row& row, std::size_t c) {
          return (row.x[c] - row.mean) * row.rstd * row.gamma[static_cast<std::size_t>(row.r)] + row.beta[c];
        })) == only("gamma_by_row"));
  CHECK(named(with_y([](const Row& row, std::size_t c) { return row.x[c] * row.rstd * row.gamma[c] + row.beta[c]; })) ==
        only("mean_not_subtracted"));
  // In the fours of a row of 99 columns alone, or in the tail behind them alone.
  const auto named_of_99 = [](const Kernel& kernel) {
    return diagnosis(run(kernel, Norm::layer_norm), testing::make_case(3, 99, Data::offset_10, 14), block,
                     Norm::layer_norm);
  };
  for (const std::size_t first : {0, 96}) {
    const std::size_t last = first == 0 ? 96 : 99;
    const auto with_y_there = [=](double (*y)(const Row&, std::size_t c)) -> Kernel {
      return [=](Row& row) {
        for (std::size_t c = first; c < last; ++c) row.y[c] = y(row, c);
      };
    };
    CHECK(named_of_99(with_y_there([](const Row& row, std::size_t c) {
            return (row.x[c] - row.mean) * row.rstd * row.gamma[c];
          })) == only("beta_missing"));
    CHECK(named_of_99(with_y_there([](const Row& row, std::size_t c) {
            return (row.x[c] - row.mean) * row.rstd + row.beta[c];
          })) == only("gamma_missing"));
    if (last < 99) continue;
    CHECK(named_of_99(with_y_there([](const Row& row, std::size_t c) {
            return row.x[c] * row.rstd * row.gamma[c] + row.beta[c];
          })) == only("mean_not_subtracted"));
  }
  CHECK(named([](Row& row) {
          for (std::size_t c = 0; c < row.x.size(); ++c) row.x[c] *= row.gamma[c];
          row.mean = mean_of(row.x);
          row.rstd = 1 / std::sqrt(mean_square_about(row.mean, row.x) + row.eps);
          for (std::size_t c = 0; c < row.x.size(); ++c) row.y[c] = (row.x[c] - row.mean) * row.rstd + row.beta[c];
        }) == only("gamma_before_normalising"));
}

TEST_CASE("a variance that cancels is known by the rows on which it is wrong") {
  const testing::RunNorm one_pass = [](const NormCase& input) {
    return run(
        [](Row& row) {
          float sum = 0, squares = 0;
          for (const double x : row.x) {
            const auto value = static_cast<float>(x);
            sum += value;
            squares += value * value;
          }
          const auto n = static_cast<float>(row.n);
          const float mean = sum / n, variance = squares / n - mean * mean;
          row.mean = mean;
          row.rstd = static_cast<double>(1.0f / std::sqrt(variance + static_cast<float>(row.eps)));
          row.normalise();
        },
        Norm::layer_norm)(input);
  };
  for (const Data data : {Data::offset_100, Data::offset_1000}) {
    const NormCase input = testing::make_case(3, 100, data, 4);
    CHECK(diagnosis(one_pass, input, testing::thread_per_row(100), Norm::layer_norm) == only("one_pass_cancellation"));
  }
  // Wrong on the same rows, and by more than cancellation explains.
  const testing::RunNorm wrong_far_from_0 = run(
      [](Row& row) {
        if (std::abs(row.mean) > 50) row.rstd *= 2, row.normalise();
      },
      Norm::layer_norm);
  CHECK(diagnosis(wrong_far_from_0, testing::make_case(3, 100, Data::offset_100, 4), testing::thread_per_row(100),
                  Norm::layer_norm)
            .empty());
}

TEST_CASE("where the probe cannot be run the case itself decides, and names both of two that coincide on it") {
  const NormCase input = testing::make_case(3, 100, Data::centred, 5);
  const NormResult got =
      run([](Row& row) { row.rstd = 1 / std::sqrt(row.variance), row.normalise(); }, Norm::layer_norm)(input);
  const LikelyMistakes both = {"eps_missing", "eps_added_to_n"};
  CHECK(testing::text(testing::likely_mistakes(got, input, block, Norm::layer_norm, nullptr)) == testing::text(both));
  const testing::RunNorm throws = [](const NormCase&) -> NormResult { throw std::runtime_error("a finding"); };
  CHECK(testing::likely_mistakes(got, input, block, Norm::layer_norm, throws) == both);
}

TEST_CASE("a verdict ends with the likely mistake, and its bounds say where they come from") {
  const NormCase input = testing::make_case(3, 100, Data::offset_10, 10);
  const Kernel kernel = [](Row& row) {
    row.mean *= 1.01;
    row.rstd = 1 / std::sqrt(row.variance * row.n / (row.n - 1) + row.eps);
    row.normalise();
  };
  const std::string unknown = testing::judge(run(kernel, Norm::layer_norm)(input), input, block).text();
  CHECK(unknown.ends_with("\nno known mistake fits"));
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  CHECK(count(unknown, "\n  bound: ") == 3);
  CHECK(count(unknown, "; common/testing/tolerance.h\n") == 3);
  CHECK(count(unknown, "= |γ|·D'·κ·u·(1 + |x̂|/2) + …, with D' = 12, κ = ") == 1);  // D' = max(4, 1) + 8
  const Kernel known = [](Row& row) {
    row.rstd *= std::sqrt((row.variance + row.eps) / row.variance), row.normalise();
  };
  const std::string named = testing::judge(run(known, Norm::layer_norm)(testing::make_case(3, 100, Data::centred, 10)),
                                           testing::make_case(3, 100, Data::centred, 10), block)
                                .text();
  CHECK(count(named, "\nlikely mistake: ") == 2);  // eps_missing and eps_added_to_n coincide here
  std::istringstream lines(unknown);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  bound"))
      CHECK(std::count_if(line.begin(), line.end(), [](char byte) { return (byte & 0xC0) != 0x80; }) <= 100);
  }
}

TEST_CASE("rows on which many mistakes coincide name none") {
  for (const NormCase& input : {testing::make_case(3, 1, Data::centred, 6), testing::make_case(3, 64, Data::zero, 7)}) {
    const NormResult zeros{std::vector<float>(input.x.size(), 5.0f), std::vector<float>(3, 5.0f),
                           std::vector<float>(3, 5.0f)};
    CHECK(testing::likely_mistakes(zeros, input, block, Norm::layer_norm, nullptr).empty());
  }
}

// ---- the backward

namespace {

/// A matrix and what belongs to it; a wrong backward computes the three outputs. [rows][cols], [cols], [cols].
struct Matrix {
  std::size_t rows, cols;
  Values x, dy, gamma, mean, rstd;
  std::size_t at(std::size_t r, std::size_t c) const { return r * cols + c; }
  double normalised(std::size_t r, std::size_t c) const { return (x[at(r, c)] - mean[r]) * rstd[r]; }
  double g(std::size_t r, std::size_t c) const { return dy[at(r, c)] * gamma[c]; }
};
struct Derivatives {
  Values dx, dgamma, dbeta;
};

/// The formulas of the backward, with what stands in the place of g in the means, and of dy · x̂ in dgamma.
Derivatives right(const Matrix& m, Norm norm) {
  Derivatives result{Values(m.x.size()), Values(m.cols), Values(m.cols)};
  for (std::size_t r = 0; r < m.rows; ++r) {
    double g = 0, gx = 0;
    for (std::size_t c = 0; c < m.cols; ++c) g += m.g(r, c), gx += m.g(r, c) * m.normalised(r, c);
    g = norm == Norm::rms_norm ? 0 : g / static_cast<double>(m.cols);
    gx /= static_cast<double>(m.cols);
    for (std::size_t c = 0; c < m.cols; ++c) {
      result.dx[m.at(r, c)] = m.rstd[r] * (m.g(r, c) - g - m.normalised(r, c) * gx);
      result.dgamma[c] += m.dy[m.at(r, c)] * m.normalised(r, c);
      result.dbeta[c] += m.dy[m.at(r, c)];
    }
  }
  return result;
}

using Backward = std::function<void(const Matrix&, Derivatives&)>;

testing::RunBackward run_wrong(const Backward& backward, Norm norm) {
  return [=](const BackwardCase& input) {
    const NormCase& forward = input.forward;
    Matrix m{static_cast<std::size_t>(forward.rows),
             static_cast<std::size_t>(forward.cols),
             {forward.x.begin(), forward.x.end()},
             {input.dy.begin(), input.dy.end()},
             Values(static_cast<std::size_t>(forward.cols), 1.0),
             Values(static_cast<std::size_t>(forward.rows), 0.0),
             {input.rstd.begin(), input.rstd.end()}};
    if (!forward.gamma.empty()) m.gamma.assign(forward.gamma.begin(), forward.gamma.end());
    if (!input.mean.empty()) m.mean.assign(input.mean.begin(), input.mean.end());
    Derivatives derivatives = right(m, norm);
    backward(m, derivatives);
    BackwardResult result;
    for (const double dx : derivatives.dx) result.dx.push_back(stored(dx));
    for (const double sum : derivatives.dgamma) result.dgamma.push_back(stored(sum));
    if (norm == Norm::layer_norm)
      for (const double sum : derivatives.dbeta) result.dbeta.push_back(stored(sum));
    return result;
  };
}

LikelyMistakes named(const Backward& backward, Norm norm = Norm::layer_norm) {
  const testing::RunBackward run = run_wrong(backward, norm);
  const BackwardCase input =
      testing::make_backward_case(norm, testing::make_case(20, 100, Data::offset_10, 8), std::uint64_t{9});
  return testing::likely_mistakes(run(input), input, {block, {20, 1}}, {}, run);
}

/// dx of another formula of g, x̂ and their means.
Backward with_dx(double (*dx)(const Matrix& m, std::size_t r, std::size_t c, double mean_g, double mean_gx)) {
  return [=](const Matrix& m, Derivatives& result) {
    for (std::size_t r = 0; r < m.rows; ++r) {
      double g = 0, gx = 0;
      for (std::size_t c = 0; c < m.cols; ++c) g += m.g(r, c), gx += m.g(r, c) * m.normalised(r, c);
      for (std::size_t c = 0; c < m.cols; ++c)
        result.dx[m.at(r, c)] = dx(m, r, c, g / static_cast<double>(m.cols), gx / static_cast<double>(m.cols));
    }
  };
}
/// dgamma and dbeta as sums of other terms.
Backward with_sums(double (*dgamma)(const Matrix& m, std::size_t r, std::size_t c),
                   double (*dbeta)(const Matrix& m, std::size_t r, std::size_t c)) {
  return [=](const Matrix& m, Derivatives& result) {
    for (std::size_t c = 0; c < m.cols; ++c) {
      result.dgamma[c] = result.dbeta[c] = 0;
      for (std::size_t r = 0; r < m.rows; ++r) result.dgamma[c] += dgamma(m, r, c), result.dbeta[c] += dbeta(m, r, c);
    }
  };
}
double dy_of(const Matrix& m, std::size_t r, std::size_t c) { return m.dy[m.at(r, c)]; }

}  // namespace

TEST_CASE("a right backward, and one that is wrong in an unknown way, have no known mistake") {
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    CHECK(named([](const Matrix&, Derivatives&) {}, norm).empty());
    CHECK(named([](const Matrix&, Derivatives& d) { d.dx[50] += 1; }, norm).empty());
    CHECK(named([](const Matrix&, Derivatives& d) { d.dgamma[50] *= 1.01; }, norm).empty());
  }
}

TEST_CASE("dx") {
  CHECK(named([](const Matrix& m, Derivatives& d) {  // γ·dx of a γ of 1
          Matrix plain = m;
          std::fill(plain.gamma.begin(), plain.gamma.end(), 1.0);
          d.dx = right(plain, Norm::layer_norm).dx;
          for (std::size_t i = 0; i < d.dx.size(); ++i) d.dx[i] *= m.gamma[i % m.cols];
        }) == only("gamma_outside_the_mean"));
  CHECK(named([](const Matrix& m, Derivatives& d) {
          Matrix plain = m;
          std::fill(plain.gamma.begin(), plain.gamma.end(), 1.0);
          d.dx = right(plain, Norm::layer_norm).dx;
        }) == only("gamma_missing"));
  CHECK(named(with_dx([](const Matrix& m, std::size_t r, std::size_t c, double mean_g, double) {
          return m.rstd[r] * (m.g(r, c) - mean_g);
        })) == only("xhat_term_missing"));
  CHECK(named(with_dx([](const Matrix& m, std::size_t r, std::size_t c, double, double mean_gx) {
          return m.rstd[r] * (m.g(r, c) - m.normalised(r, c) * mean_gx);
        })) == only("mean_of_g_missing"));
  CHECK(named(with_dx([](const Matrix& m, std::size_t r, std::size_t c, double mean_g, double mean_gx) {
          return m.g(r, c) - mean_g - m.normalised(r, c) * mean_gx;
        })) == only("rstd_missing"));
  CHECK(named(with_dx([](const Matrix& m, std::size_t r, std::size_t c, double mean_g, double mean_gx) {
          return m.rstd[r] * (m.g(r, c) - mean_g * 5 - m.normalised(r, c) * mean_gx * 5);  // 100 columns ÷ 20 rows
        })) == only("means_over_rows"));
  CHECK(named([](const Matrix&, Derivatives& d) { std::fill(d.dx.begin(), d.dx.end(), unwritten); }) ==
        only("never_written"));
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {  // statistics, or x, of the row before
    const auto other = [](std::size_t r) { return r == 0 ? 0 : r - 1; };
    CHECK(named(
              [=](const Matrix& m, Derivatives& d) {
                Matrix wrong = m;
                for (std::size_t r = 0; r < m.rows; ++r)
                  wrong.mean[r] = m.mean[other(r)], wrong.rstd[r] = m.rstd[other(r)];
                d = right(wrong, norm);
              },
              norm) == only("row_off_by_one"));
    CHECK(named(
              [=](const Matrix& m, Derivatives& d) {
                Matrix wrong = m;
                for (std::size_t r = 0; r < m.rows; ++r)
                  for (std::size_t c = 0; c < m.cols; ++c) wrong.x[m.at(r, c)] = m.x[m.at(other(r), c)];
                d = right(wrong, norm);
              },
              norm) == only("row_off_by_one"));
  }
  CHECK(named(with_dx([](const Matrix& m, std::size_t r, std::size_t c, double mean_g, double mean_gx) {
                return m.rstd[r] * (m.g(r, c) - mean_g - m.normalised(r, c) * mean_gx);
              }),
              Norm::rms_norm) == only("layer_norm_for_rms_norm"));
}

TEST_CASE("dgamma and dbeta") {
  CHECK(named(with_sums([](const Matrix& m, std::size_t r, std::size_t c) { return dy_of(m, r, c) * m.x[m.at(r, c)]; },
                        dy_of)) == only("dgamma_from_x"));
  CHECK(named(with_sums([](const Matrix& m, std::size_t r, std::size_t c) { return m.g(r, c) * m.normalised(r, c); },
                        dy_of)) == only("gamma_in_dgamma"));
  CHECK(named(with_sums([](const Matrix& m, std::size_t r, std::size_t c) { return m.normalised(r, c); }, dy_of)) ==
        only("dy_missing"));
  CHECK(named([](const Matrix&, Derivatives& d) { std::swap(d.dgamma, d.dbeta); }) == only("dgamma_dbeta_swapped"));
  CHECK(named([](const Matrix& m, Derivatives& d) {  // Σ over row c
          for (std::size_t c = 0; c < m.cols; ++c) {
            d.dgamma[c] = d.dbeta[c] = 0;
            for (std::size_t k = 0; c < m.rows && k < m.cols; ++k) {
              d.dgamma[c] += dy_of(m, c, k) * m.normalised(c, k);
              d.dbeta[c] += dy_of(m, c, k);
            }
          }
        }) == only("transposed_reduction"));
  for (const auto& kept : {+[](std::size_t r) { return r < 19; },  // 20 rows in 5 slabs of 4
                           +[](std::size_t r) { return r < 15; },  // the last row of each slab is left out
                           +[](std::size_t r) { return r >= 5; }, +[](std::size_t r) { return r % 5 < 4; }}) {
    CHECK(named([=](const Matrix& m, Derivatives& d) {
            for (std::size_t c = 0; c < m.cols; ++c) {
              d.dgamma[c] = d.dbeta[c] = 0;
              for (std::size_t r = 0; r < m.rows; ++r) {
                if (kept(r)) d.dgamma[c] += dy_of(m, r, c) * m.normalised(r, c), d.dbeta[c] += dy_of(m, r, c);
              }
            }
          }) == only("rows_dropped"));
  }
  CHECK(named([](const Matrix&, Derivatives& d) { std::fill(d.dbeta.begin(), d.dbeta.end(), unwritten); }) ==
        only("never_written"));
  CHECK(named([](const Matrix&, Derivatives& d) { std::fill(d.dgamma.begin(), d.dgamma.end(), 0.0); },
              Norm::rms_norm) == LikelyMistakes{"all_zeros", "rows_dropped"});  // or all of them
}

// ---- single functions

TEST_CASE("a candidate fits where all of it does, and none where it is right") {
  using testing::likely_mistake;
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const std::vector<testing::Candidate> candidates = {{"eps_missing", {1, 2}}, {"no_root", {1, 3}}};
  CHECK(likely_mistake(candidates, {1, 3}, {1, 1}) == "\n" + testing::text(LikelyMistakes{"no_root"}));
  CHECK(likely_mistake(candidates, {1, 2.5}, {1, 1}) == "\nno known mistake fits");
  CHECK(likely_mistake(candidates, {1, 3}, {1, 3}) == "\nno known mistake fits");
  CHECK(likely_mistake({{"eps_missing", {nan}}}, {nan}, {1}) == "\n" + testing::text(LikelyMistakes{"eps_missing"}));
  CHECK(likely_mistake({{"one_pass_cancellation", {5}, 0.5}}, {5.4}, {5}).find("one_pass") != std::string::npos);
  CHECK(likely_mistake({{"one_pass_cancellation", {5}, 0.5}}, {5.6}, {5}) == "\nno known mistake fits");
  const std::vector<testing::Candidate> divided_by_0 = {{"divided_by_the_old_count", {infinite}}};
  CHECK(likely_mistake(divided_by_0, {infinite}, {3}).find("divided_by_the_old_count") != std::string::npos);
  CHECK(likely_mistake(divided_by_0, {5}, {3}) == "\nno known mistake fits");
  CHECK_THROWS_AS(likely_mistake(candidates, {1}, {1}), std::invalid_argument);
}

TEST_CASE("mistaken updates and merges, by hand") {
  const auto predicts = [](const std::vector<testing::Candidate>& candidates, std::string_view mistake,
                           const std::vector<double>& numbers) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const testing::Candidate& candidate) {
      return candidate.mistake == mistake && candidate.predicted == numbers;
    });
  };
  // 7 behind the values 1, 2, 3: the mean goes from 2 to 3.25; the deviations are 5 and 3.75.
  const std::vector<float> seven = {7};
  const auto updates = testing::mistaken_updates({3, 2, 2}, seven);
  CHECK(predicts(updates, "old_deviation_twice", {1, 3.25, 2 + 5 * 5}));
  CHECK(predicts(updates, "new_deviation_twice", {1, 3.25, 2 + 3.75 * 3.75}));
  CHECK(predicts(updates, "m2_not_accumulated", {1, 3.25, 5 * 3.75}));
  CHECK(predicts(updates, "count_not_updated", {0, 3.25, 2 + 5 * 3.75}));
  // 4 and 6, the first skipped: the mean goes from 0 to 3, and m2 by 6 · 3; the square of the 4 is in it or not.
  const std::vector<float> two = {4, 6};
  const auto after_two = testing::mistaken_updates({0, 0, 0}, two);
  CHECK(predicts(after_two, "first_value_skipped", {1, 0, 0, 2, 3, 18}));
  CHECK(predicts(after_two, "first_value_skipped", {1, 0, 16, 2, 3, 16 + 18}));
  // Three values with the mean 2, one value 6.
  const auto merges = testing::mistaken_merges({3, 2, 2}, {1, 6, 0});
  CHECK(predicts(merges, "plain_average_of_means", {0, 4, 2 + 16 * 0.75}));
  CHECK(predicts(merges, "wrong_part_weighs", {0, 5, 2 + 16 * 3 * 0.75}));  // 3/4 for 1/4, in m2 as well
  CHECK(predicts(merges, "distance_term_missing", {0, 3, 2}));
  CHECK(predicts(merges, "distance_not_weighted", {0, 3, 2 + 16}));
  // A part without values, returned in the place of the other.
  CHECK(predicts(testing::mistaken_merges({0, 0, 0}, {3, 2, 2}), "one_part_lost", {-3, 0, 0}));
  CHECK(predicts(testing::mistaken_merges({3, 2, 2}, {0, 0, 0}), "one_part_lost", {-3, 0, 0}));
  // 2³² values and 2³², whose count is 0 in 32 bits; 2³² and 2, whose count is 2.
  const double many = 0x1p32;
  CHECK(predicts(testing::mistaken_merges({many, 2, 0}, {2, 6, 0}), "count_in_32_bits", {-many, 2 + 4, 16 * many}));
  // 32 lanes, each with one value, its number: 0 to 31.
  std::vector<testing::WelfordState> lanes;
  for (int lane = 0; lane < 32; ++lane) lanes.push_back({1, static_cast<double>(lane), 0});
  const auto warps = testing::mistaken_warp_reductions(lanes);
  CHECK(predicts(warps, "step_lost", {-16, 7.5, 340}));    // 0 to 15: m2 is 16·(16² − 1)/12
  CHECK(predicts(warps, "step_lost", {-16, 13.5, 1300}));  // 8j + k with j, k < 4: 16·(8² + 1)·(4² − 1)/12
  CHECK(predicts(warps, "travels_up", {0, 0, 0}));         // lane 0 meets itself in every step
  // Five steps to the next lane count lane k as often as 5 choose k: the mean of k is 5/2 and its variance 5/4.
  CHECK(predicts(warps, "counted_twice", {0, 2.5, 40}));
}
