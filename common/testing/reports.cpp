#include <testing/reports.h>

#include <host/device_buffer.h>
#include <host/launch_window.h>
#include <testing/large_launch.h>
#include <testing/reference.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace testing::reports {
namespace {

/// A right value, from the report or computed for it elsewhere.
struct Value {
  std::size_t index;
  double y;
  double tolerance = 0;  // 0: the kernel's bound
};

/// A case with right values that are rounded to some digits.
struct Given {
  NormCase input;
  std::vector<Value> values;
  double rounding = 5e-7;  // half a unit of the last digit
};

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

bool is_rms_norm(const NormContract& kernel) { return kernel.launcher.norm() == Norm::rms_norm; }

/// x[i] of count elements.
template <class Element>
std::vector<float> filled(std::int64_t count, Element element) {
  std::vector<float> x;
  x.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>(element(i)));
  return x;
}

double alternating(std::int64_t i) { return i % 2 == 0 ? 1.0 : -1.0; }

/// γ = 1, β = 0, and the reports' eps: 1e-5 for LayerNorm, 1e-6 for RMSNorm.
NormCase rows_of(const NormContract& kernel, std::int64_t rows, std::vector<float> x) {
  NormCase input;
  input.name = "the row of the report";
  input.rows = rows;
  input.cols = static_cast<std::int64_t>(x.size()) / rows;
  input.x = std::move(x);
  input.eps = is_rms_norm(kernel) ? 1e-6f : 1e-5f;
  return input;
}
NormCase row_of(const NormContract& kernel, std::vector<float> x) { return rows_of(kernel, 1, std::move(x)); }

std::vector<double> right_y(const NormContract& kernel, const NormCase& input) {
  return is_rms_norm(kernel)
             ? rms_norm_reference(input.x, input.gamma, input.rows, input.cols, input.eps).y
             : layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps).y;
}

std::vector<double> bound_of_y(const NormContract& kernel, const NormCase& input) {
  const Summation summation = kernel.summation(input.cols);
  if (is_rms_norm(kernel)) {
    return rms_norm_tolerance(input, rms_norm_reference(input.x, input.gamma, input.rows, input.cols, input.eps),
                              summation)
        .y;
  }
  return layer_norm_tolerance(input,
                              layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps),
                              summation)
      .y;
}

/// Away from 0, unless the kernel's variance cancels: such a kernel is held to its bound on centred rows alone.
Data ordinary_data(const NormContract& kernel) {
  return kernel.constant_row == ConstantRow::wrong ? Data::centred : Data::offset_10;
}

/// NaN equals NaN; else as near as that.
bool near(double a, double b, double distance) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= distance;
}

void require_within_bound(Report& report, const NormContract& kernel, const NormCase& input, const NormResult& result) {
  const NormVerdict verdict = judge(result, input, kernel.summation(input.cols), kernel.launcher.norm());
  report.require(verdict.passed(), verdict.text());
}

void require_right(Report& report, const NormContract& kernel, const Given& given, const NormResult& result) {
  const NormCase& input = given.input;
  const bool bounded = std::any_of(given.values.begin(), given.values.end(), [](auto& v) { return v.tolerance == 0; });
  const std::vector<double> reference = right_y(kernel, input);
  const std::vector<double> bound = bounded ? bound_of_y(kernel, input) : std::vector<double>();
  // A GPU judges millions of them: a sentence is made only where one is needed.
  for (const auto& [index, y, tolerance] : given.values) {
    const auto wrong = [&, index = index, y = y](const char* what, double value) {
      report.require(false, input.name + ", y[" + std::to_string(index) + "]: the right value is " + std::to_string(y) +
                                what + std::to_string(value));
    };
    const double allowed = given.rounding + (tolerance == 0 ? bound[index] : tolerance);
    if (!near(reference[index], y, given.rounding)) wrong(", but the course's own reference gives ", reference[index]);
    if (!near(result.y[index], y, allowed)) wrong(", got ", result.y[index]);
  }
  if (bounded) require_within_bound(report, kernel, input, result);
}

void require_right(Report& report, const NormContract& kernel, const Given& given) {
  report.step(given.input.name, [&] { require_right(report, kernel, given, run(kernel.launcher, given.input)); });
}

Violations right(const NormContract& kernel, const Given& given) {
  Report report;
  require_right(report, kernel, given);
  return report.take();
}

/// Every element of y is exactly this.
void require_exactly(Report& report, const NormContract& kernel, const NormCase& input,
                     const std::vector<float>& expected) {
  report.step(input.name, [&] {
    const std::vector<float> y = run(kernel.launcher, input).y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      report.require(y[i] == expected[i], input.name + ": y[" + std::to_string(i) + "] is " + std::to_string(y[i]) +
                                              "; it must be exactly " + std::to_string(expected[i]));
    }
  });
}

/// A constant row gives y = β = 0: exactly, or within the bound where the kernel promises no more.
Violations constant(const NormContract& kernel, const NormCase& input, bool sums_are_exact) {
  Report report;
  if (sums_are_exact || kernel.constant_row == ConstantRow::exact) {
    require_exactly(report, kernel, input, std::vector<float>(input.x.size(), 0.0f));
  } else {
    report.step(input.name, [&] { require_within_bound(report, kernel, input, run(kernel.launcher, input)); });
  }
  return report.take();
}

/// The kernel must be wrong here: NaN, or an error of at least this in y, or by this factor in rstd.
Violations convicts(const NormContract& kernel, const NormCase& input, double least_error) {
  Report report;
  report.step(input.name, [&] {
    const LayerNormReference reference =
        layer_norm_reference(input.x, input.gamma, input.beta, input.rows, input.cols, input.eps);
    const NormResult result = run(kernel.launcher, input);
    double error = std::abs(result.rstd[0] / reference.rstd[0] - 1);
    bool is_nan = std::isnan(error);
    for (std::size_t i = 0; i < result.y.size(); ++i) {
      is_nan = is_nan || std::isnan(result.y[i]);
      error = std::max(error, std::abs(result.y[i] - reference.y[i]));
    }
    report.require(is_nan || error >= least_error, input.name + " does not convict this kernel: its largest error is " +
                                                       std::to_string(error) + ", and it must be at least " +
                                                       std::to_string(least_error) + ", or NaN");
  });
  return report.take();
}

// The rows that a cancelling variance cannot stand.

NormCase mean_2000(const NormContract& kernel) {
  return row_of(kernel, filled(4, [](auto i) {
                  return 2000 + std::vector{-1.2, -0.3, 0.4, 1.1}[static_cast<std::size_t>(i)];
                }));
}
NormCase mean_100(const NormContract& kernel) {
  return row_of(kernel, filled(1024, [](auto i) { return 100 + 0.0025 * (static_cast<double>((7 * i) % 16) - 7.5); }));
}
NormCase near_1449(const NormContract& kernel) {
  return row_of(kernel, filled(16, [](auto i) { return 1449.57 + 0.02 * (static_cast<double>((5 * i) % 16) - 7.5); }));
}
NormCase all_1234(const NormContract& kernel) { return row_of(kernel, std::vector<float>(256, 1234.0f)); }
NormCase one_outlier(const NormContract& kernel) {
  return row_of(kernel, filled(10240, [](auto i) { return i == 10239 ? 255 : 256; }));
}
NormCase near_minus_11(const NormContract& kernel) {
  return row_of(kernel, std::vector<float>(3, -11.0f + 6 * 0x1p-20f));
}
NormCase mean_of_a_million(const NormContract& kernel) {
  return row_of(kernel, filled(1024, [](auto i) { return 1e6 + (static_cast<double>((37 * i) % 64) - 31.5) / 8; }));
}

}  // namespace

Violations n01(const NormContract& kernel) {
  return right(kernel, {mean_2000(kernel), {{0, -1.409291}, {1, -0.352394}, {2, 0.469811}, {3, 1.291874}}});
}
Violations n02(const NormContract& kernel) {
  // The bound of a thread that adds up all 1024 by itself says nothing; the faulty kernels are off by 1.4 or more.
  const double tolerance = kernel.summation(1024).threads == 1 ? 0.1 : 0;
  return right(kernel,
               {mean_100(kernel), {{0, -1.56911, tolerance}, {1, -0.104692, tolerance}, {2, 1.359725, tolerance}}});
}
Violations n03(const NormContract& kernel) {
  return right(kernel, {near_1449(kernel), {{0, -1.62552}, {1, -0.54178}, {15, 0.75896}}, 5e-6});
}
Violations n04(const NormContract& kernel) { return constant(kernel, all_1234(kernel), true); }

Violations n05(const NormContract& kernel) {
  // The mean, 255.9999, is no binary32 number: rounding it alone costs 5.9e-4 of y.
  Given given{one_outlier(kernel), {}, 5e-7};
  for (std::size_t i = 0; i < 10239; ++i) given.values.push_back({i, 0.00941237, 1e-3});
  given.values.push_back({10239, -96.373404, 1e-4 * 96.373404});
  return right(kernel, given);
}

Violations n06(const NormContract& kernel) { return constant(kernel, near_minus_11(kernel), false); }

Violations n08(const NormContract& kernel) {
  // The bound says nothing at κ = 4·10⁵. A sound kernel's error is at most 2.5e-3 in the report's setting; a mean that
  // is off by one ulp, 0.0625, costs 0.027.
  return right(kernel, {mean_of_a_million(kernel), {{0, -1.705194, 1e-2}, {1, 0.297732, 1e-2}}});
}

Violations n01_convicts(const NormContract& kernel) { return convicts(kernel, mean_2000(kernel), 0.02); }
Violations n02_convicts(const NormContract& kernel) { return convicts(kernel, mean_100(kernel), 1.4); }
Violations n03_convicts(const NormContract& kernel) { return convicts(kernel, near_1449(kernel), infinity); }
Violations n04_convicts(const NormContract& kernel) {
  // A tree adds equal squares without rounding; one by one they round.
  if (kernel.summation(256).threads > 1) return n04(kernel);
  return convicts(kernel, all_1234(kernel), infinity);
}
Violations n05_convicts(const NormContract& kernel) { return convicts(kernel, one_outlier(kernel), infinity); }
Violations n06_convicts(const NormContract& kernel) { return convicts(kernel, near_minus_11(kernel), infinity); }
Violations n08_convicts(const NormContract& kernel) { return convicts(kernel, mean_of_a_million(kernel), 1); }

Violations n09(const NormContract& kernel) {
  Report report;
  for (const float value : {1000.0f, 14.3f}) {
    NormCase input = row_of(kernel, {value, value});
    input.name = "two times " + std::to_string(value);
    require_exactly(report, kernel, input, {0, 0});
  }
  return report.take();
}

Violations n12(const NormContract& kernel) {
  if (is_rms_norm(kernel)) {
    return right(kernel, {row_of(kernel, filled(64, [](auto i) { return 300 * alternating(i); })), {{0, 1}, {63, -1}}});
  }
  return right(kernel,
               {row_of(kernel, {60000, 60032, 59968, 60000}), {{0, 0}, {1, 1.41421}, {2, -1.41421}, {3, 0}}, 5e-6});
}

Violations n13(const NormContract& kernel) {
  Report report;
  NormCase input = row_of(kernel, std::vector<float>(10, 0.0f));
  input.eps = 1e-12f;
  require_exactly(report, kernel, input, input.x);
  if (!is_rms_norm(kernel)) {
    input.beta = filled(10, [](auto i) { return static_cast<double>(i) / 8; });
    require_exactly(report, kernel, input, input.beta);
  }
  return report.take();
}

Violations n14(const NormContract& kernel) {
  NormCase input = row_of(kernel, filled(32, [](auto i) { return 0.0625 * alternating(i); }));
  input.eps = 1e-6f;
  return right(kernel, {input, {{0, 0.999872}, {31, -0.999872}}});
}

Violations n16(const NormContract& kernel) {
  return right(kernel, {rows_of(kernel, 2, {0, 0.001f, 3, 3}), {{0, -0.156174}, {1, 0.156174}, {2, 0}, {3, 0}}});
}

namespace {
/// The mean is 0 and the mean square 1e-6, so that it means the same to both norms.
NormCase thousandths(const NormContract& kernel, float eps) {
  NormCase input = row_of(kernel, filled(8, [](auto i) { return 0.001 * alternating(i); }));
  input.eps = eps;
  input.name = "eps " + std::to_string(eps);
  return input;
}
}  // namespace

Violations n17(const NormContract& kernel) {
  return right(kernel, {thousandths(kernel, 1e-5f), {{0, 0.3015113}, {1, -0.3015113}}, 1e-7});
}

Violations n18(const NormContract& kernel) {
  return right(kernel, {row_of(kernel, {10, 11, 12}), {{0, -1.224736}, {1, 0}, {2, 1.224736}}});
}

Violations n19(const NormContract& kernel) {
  Report report;
  require_right(report, kernel, {row_of(kernel, {1, 3}), {{0, -0.999995}, {1, 0.999995}}});
  require_exactly(report, kernel, row_of(kernel, {1}), {0});
  return report.take();
}

Violations n25(const NormContract& kernel) {
  const NormCase input = rows_of(kernel, 2, {infinity, 1, 1, 1, 1, 1, 1, 1});
  // Its statistics may be NaN or ∞, so y alone is judged, and to some roundings.
  Given given{input, {}, 5e-7};
  for (std::size_t i = 0; i < 8; ++i) {
    const double in_row_0 = i == 0 || !is_rms_norm(kernel) ? nan : 0, in_row_1 = is_rms_norm(kernel) ? 1 : 0;
    given.values.push_back({i, i < 4 ? in_row_0 : in_row_1, 1e-6});
  }
  return right(kernel, given);
}

Violations n26(const NormContract& kernel) {
  Report report;
  require_right(report, kernel, {thousandths(kernel, 1e-5f), {{0, 0.3015113}}, 1e-7});
  require_right(report, kernel, {thousandths(kernel, 1), {{0, 9.999995e-4}}, 1e-10});
  NormCase without_eps = row_of(kernel, {0, 0, 0, 0});
  without_eps.eps = 0;
  require_right(report, kernel, {without_eps, {{0, nan}, {3, nan}}});  // 0·∞ by IEEE
  return report.take();
}

Violations x02(const NormContract& kernel) {
  Report report;
  const NormCase last = row_of(kernel, filled(4096, [](auto i) { return (i + 1) % 8; }));
  report.step("the last of 524289 rows of 4096", [&] {
    report.require_same("the last of 524289 rows of 4096, against the same row alone",
                        run_last_rows(kernel.launcher, kernel.rows_per_block(4096), 524289, last),
                        run(kernel.launcher, last), 4096);
  });
  return report.take();
}

Violations x03(const NormContract& kernel) {
  Report report;
  const std::int64_t rows = (std::int64_t{1} << 23) + 16, cols = 256, first_of_last = 15 * cols;
  NormCase last =
      rows_of(kernel, 16, filled(16 * cols, [&](auto i) { return i < first_of_last ? 0 : alternating(i); }));
  last.name = "the last 16 of 2²³ + 16 rows of 256";
  report.step(last.name, [&] {
    const NormResult result = run_last_rows(kernel.launcher, kernel.rows_per_block(cols), rows, last);
    const double one = is_rms_norm(kernel) ? 0.9999995 : 0.999995;
    const auto at = static_cast<std::size_t>(first_of_last);
    require_right(report, kernel, {last, {{0, 0}, {at - 1, 0}, {at, one}, {at + 255, -one}}, 5e-8}, result);
  });
  return report.take();
}

Violations x05(const NormContract& kernel) {
  Given given{rows_of(kernel, 7, filled(std::int64_t{7} * 769, [](auto i) { return i % 769 == 768 ? 28 : 1; })), {}};
  const bool rms_norm = is_rms_norm(kernel);
  for (std::size_t i = 0; i < given.input.x.size(); ++i) {
    if (i % 769 == 768)
      given.values.push_back({i, rms_norm ? 19.709483 : 27.712667});
    else
      given.values.push_back({i, rms_norm ? 0.703910 : -0.036084});
  }
  return right(kernel, given);
}

Violations x06(const NormContract& kernel) {
  Report report;
  const NormCase three = row_of(kernel, {2, 3, 6}), seven = row_of(kernel, {1, 1, 1, 1, 3, 3, 3});
  if (is_rms_norm(kernel)) {
    require_right(report, kernel, {three, {{0, 0.494872}, {1, 0.742307}, {2, 1.484615}}});
    require_right(report, kernel, {seven, {{0, 0.475191}, {3, 0.475191}, {4, 1.425573}, {6, 1.425573}}});
  } else {
    require_right(report, kernel, {three, {{0, -0.980579}, {1, -0.392232}, {2, 1.372811}}});
    require_right(report, kernel, {seven, {{0, -0.866021}, {3, -0.866021}, {4, 1.154695}, {6, 1.154695}}});
  }
  return report.take();
}

Violations x07(const NormContract& kernel) {
  const NormCase input = row_of(kernel, filled(513, [](auto i) { return i == 512 ? 32 : 1; }));
  if (is_rms_norm(kernel)) return right(kernel, {input, {{0, 0.577914}, {511, 0.577914}, {512, 18.493239}}});
  return right(kernel, {input, {{0, -0.044194}, {511, -0.044194}, {512, 22.627356}}});
}

Violations x09(const NormContract& kernel) {
  Report report;
  const NormCase input = make_case(3, 64, Data::offset_10, 31);
  report.step(input.name, [&] {
    const NormResult moved =
        run(kernel.launcher, input, {.x_offset = 1, .y_offset = 1, .gamma_offset = 3, .beta_offset = 2});
    report.require_same(input.name + ", x and y moved by one element, γ by 3, β by 2", moved,
                        run(kernel.launcher, input), 64);
  });
  return report.take();
}

namespace {
Violations within_bound(const NormContract& kernel, const NormCase& input) {
  Report report;
  report.step(input.name, [&] { require_within_bound(report, kernel, input, run(kernel.launcher, input)); });
  return report.take();
}
}  // namespace

Violations x13(const NormContract& kernel) { return within_bound(kernel, make_case(3, 11, Data::centred, 32)); }

Violations x14(const NormContract& kernel) {
  const NormCase input = row_of(kernel, filled(65537, [](auto i) { return i == 65536 ? 256 : 1; }));
  if (is_rms_norm(kernel)) return right(kernel, {input, {{0, 0.707112}, {65535, 0.707112}, {65536, 181.0207}}, 5e-5});
  return right(kernel, {input, {{0, -0.003906}, {65535, -0.003906}, {65536, 255.998710}}});
}

Violations b13(const NormContract& kernel) {
  Report report;
  NormCase input = row_of(kernel, {1e6f});
  input.gamma = {2};
  input.beta = {3};
  require_exactly(report, kernel, input, {3});
  return report.take();
}

namespace {
/// A launch over many short rows. A GPU runs them all, and all are judged; under the executor the last ones alone.
template <class Element>
void require_right_rows(Report& report, const NormContract& kernel, std::int64_t rows, std::int64_t cols,
                        Element element, const std::vector<Value>& values_of_a_row, double rounding) {
#ifdef LNH_CUDA
  const std::int64_t judged = rows;
#else
  const std::int64_t judged = 8;
#endif
  const std::int64_t before = rows - judged;
  Given given{
      rows_of(kernel, judged, filled(judged * cols, [&](auto i) { return element(before + i / cols, i % cols); })),
      {},
      rounding};
  given.input.name = "the last " + std::to_string(judged) + " of " + std::to_string(rows) + " rows";
  for (std::int64_t row = 0; row < judged; ++row) {
    for (const Value& value : values_of_a_row) {
      given.values.push_back({static_cast<std::size_t>(row * cols) + value.index, value.y});
    }
  }
  report.step(given.input.name, [&] {
    require_right(report, kernel, given,
                  before == 0 ? run(kernel.launcher, given.input)
                              : run_last_rows(kernel.launcher, kernel.rows_per_block(cols), rows, given.input));
  });
}
}  // namespace

Violations a01(const NormContract& kernel) {
  Report report;
  const auto element = [](std::int64_t row, std::int64_t column) { return (row % 7 + 1) * (column + 1); };
  for (const std::int64_t rows : {65535, 65536, 65537}) {
    if (is_rms_norm(kernel)) {
      require_right_rows(report, kernel, rows, 4, element, {{0, 0.365148}, {1, 0.730297}, {2, 1.095445}, {3, 1.460593}},
                         1e-6);
    } else {  // eps changes the sixth digit from row to row
      require_right_rows(report, kernel, rows, 4, element, {{0, -1.34164}, {1, -0.44721}, {2, 0.44721}, {3, 1.34164}},
                         1e-5);
    }
  }
  return report.take();
}

Violations a02(const NormContract& kernel) {
  Report report;
  const auto element = [](std::int64_t, std::int64_t column) { return column + 1; };
  const std::vector<Value> values = is_rms_norm(kernel)
                                        ? std::vector<Value>{{0, 0.462910}, {1, 0.925820}, {2, 1.388730}}
                                        : std::vector<Value>{{0, -1.224736}, {1, 0}, {2, 1.224736}};
  require_right_rows(report, kernel, 8388609, 3, element, values, 5e-7);
  return report.take();
}

Violations a03(const NormContract& kernel) {
  Report report;
  NormCase gamma_alone = row_of(kernel, {1, 3}), beta_alone = gamma_alone;
  gamma_alone.gamma = {2, 4};
  gamma_alone.name = "γ without β";
  beta_alone.beta = {5, 6};
  beta_alone.name = "β without γ";
  if (is_rms_norm(kernel)) {  // it has no β
    require_right(report, kernel, {gamma_alone, {{0, 0.894427}, {1, 5.366563}}});
    beta_alone.name = "no γ";
    require_right(report, kernel, {beta_alone, {{0, 0.447214}, {1, 1.341641}}});
  } else {
    require_right(report, kernel, {gamma_alone, {{0, -1.99999}, {1, 3.99998}}});
    require_right(report, kernel, {beta_alone, {{0, 4.000005}, {1, 6.999995}}});
  }
  return report.take();
}

Violations a04(const NormContract& kernel) {
  Report report;
  LayerNormArgs nothing;
  nothing.cols = 4;
  report.step("no rows", [&] { kernel.launcher(nothing, nullptr); });
  report.require_no_pending_error();
  const NormCase one = make_case(1, 4, Data::centred, 33);
  report.step("the row after no rows", [&] { require_within_bound(report, kernel, one, run(kernel.launcher, one)); });
  return report.take();
}

Violations a05(const NormContract& kernel) {
  Report report;
  for (const std::int64_t cols : {16384, 65536}) {
    NormCase input = row_of(kernel, filled(cols, alternating));
    input.name = std::to_string(cols) + " columns";
    const double one = is_rms_norm(kernel) ? 0.9999995 : 0.999995;
    require_right(report, kernel, {input, {{0, one}, {static_cast<std::size_t>(cols - 1), -one}}, 5e-8});
  }
  return report.take();
}

Violations a09(const NormContract& kernel) {
  Report report;
  const NormCase input = make_case(3, 100, Data::offset_10, 34);
  report.step("y beside x", [&] {
    const NormResult beside = run(kernel.launcher, input);  // which looks whether x is what it was
    if (kernel.in_place == InPlace::allowed) {
      report.require_same("y over x", run(kernel.launcher, input, {.in_place = true}), beside, input.cols);
    }
  });
  return report.take();
}

Violations a10(const NormContract& kernel) {
  return within_bound(kernel, make_case(2, 8192, ordinary_data(kernel), 35));
}

Violations d01(const NormContract& kernel) {
#ifdef LNH_CUDA
  const std::int64_t rows = 4096, runs = 200;
#else
  const std::int64_t rows = 32, runs = 2;  // the executor sees a race in any run
#endif
  Report report;
  const std::int64_t cols = 1000;
  NormCase input = rows_of(kernel, rows, filled(rows * cols, [&](auto i) {
                             return std::ldexp(1 + i % cols % 5, static_cast<int>(i / cols % 16) - 8);
                           }));
  input.eps = 0;  // so that a factor 2ᵏ leaves no trace in y
  report.step("rows that differ by a power of two", [&] {
    for (std::int64_t count = 0; count < runs; ++count) {
      const std::vector<float> y = run(kernel.launcher, input).y;
      const std::span<const float> first = std::span(y).first(static_cast<std::size_t>(cols));
      std::vector<float> expected;
      expected.reserve(y.size());
      for (std::int64_t row = 0; row < rows; ++row) expected.insert(expected.end(), first.begin(), first.end());
      report.require_same("the rows, in run " + std::to_string(count) + ", against row 0", y, expected, cols);
    }
  });
  return report.take();
}

Violations d05(const NormContract& kernel) {
  Report report;
  const std::int64_t cols = 4096;
  std::vector<float> alone;
  for (const std::int64_t rows : {1, 255, 256, 4096}) {
    const NormCase input = rows_of(kernel, rows, filled(rows * cols, [&](auto i) {
                                     const auto hash = static_cast<std::uint64_t>(i % cols) * 2654435761u % 65536;
                                     return static_cast<double>(hash) / 32768 - 1;
                                   }));
    report.step(std::to_string(rows) + " rows", [&] {
      const LaunchWindow first_block(0, 1);
      const std::vector<float> y = run(kernel.launcher, input).y;
      const std::vector<float> row(y.begin(), y.begin() + cols);
      if (rows == 1) alone = row;
      report.require_same("row 0 of " + std::to_string(rows) + ", against the same row alone", row, alone, cols);
    });
  }
  return report.take();
}

Violations e01(const NormContract& kernel) {
  return right(kernel, {row_of(kernel, {1, 2, 3, 4, 5}),
                        {{0, -1.414210}, {1, -0.707105}, {2, 0}, {3, 0.707105}, {4, 1.414210}}});
}

Violations e02(const NormContract& kernel) {
  Report report;
  for (const std::int64_t cols : {4, 20, 124, 252}) {
    const NormCase input = make_case(3, cols, ordinary_data(kernel), 36);
    report.step(input.name, [&] { require_within_bound(report, kernel, input, run(kernel.launcher, input)); });
  }
  return report.take();
}

Violations e03(const NormContract& kernel) {
  Report report;
  for (const float x : {0.0f, 1.0f, -3.7f, 1e20f}) {
    NormCase input = row_of(kernel, {x});
    input.gamma = {-1.5f};
    input.beta = {0.7f};
    require_exactly(report, kernel, input, input.beta);
  }
  return report.take();
}

}  // namespace testing::reports
