// ./learn numerics: what each way to a variance gives, and by how much it errs. Explained in docs/numerics.md.
#include <fmt/format.h>
#include <learn/commands.h>
#include <learn/files.h>
#include <learn/nist.h>
#include <learn/plot.h>
#include <learn/process.h>
#include <numerics/example.h>
#include <numerics/experiment.h>
#include <testing/reference.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace learn {
namespace {

using numerics::Products;
using numerics::Row;
using numerics::Sums;
using numerics::Tree;

constexpr float eps = 1e-5f;

/// As a kernel would go on with this variance.
std::string rstd_text(float variance) {
  const float rstd = 1.0f / std::sqrt(variance + eps);
  return std::isnan(rstd) ? "NaN" : fmt::format("{:.1f}", rstd);
}

/// Two or three digits of a share, without an exponent: "97.6 %", "0.0000040 %".
std::string percent(double share) {
  const double value = 100 * share;
  const int decimals = value >= 1 || value == 0 ? 1 : static_cast<int>(1 - std::floor(std::log10(value)));
  return fmt::format("{:.{}f} %", value, decimals);
}

void print_row(const testing::Moments& decimals, const testing::Moments& floats) {
  fmt::print("The row: 1000.001, 1000.002, …, 1000.010. A kernel sees the floats next to these ten decimals.\n\n"
             "                                            mean           variance      rstd\n"
             "  the ten decimals                     {:>9.4f}{:>19.3g}\n"
             "  the ten floats                 {:>15.10f}{:>19.11g}{:>10.1f}   <- a kernel's task\n\n"
             "  variance   the mean of the squared distances from the mean, here computed in double precision\n"
             "  rstd       1/√(variance + eps), by which LayerNorm multiplies; eps = {:g}\n",
             decimals.mean, decimals.variance, floats.mean, floats.variance, 1 / std::sqrt(floats.variance + eps), eps);
}

void print_orders(Row row) {
  struct Order {
    const char* name;
    Sums (*sums)(Row, Products);
  };
  static const Order orders[] = {
      {"first element to last", numerics::sums_sequential},
      {"last element to first", numerics::sums_reversed},
      {"pairwise: halves, halves of halves", numerics::sums_pairwise},
      {"4 lanes (float4), then their sums",
       [](Row values, Products products) { return numerics::sums_lanes(values, 4, products); }},
      {"32 lanes, distances 16, 8, 4, 2, 1",
       [](Row values, Products products) { return numerics::sums_lanes(values, 32, products, Tree::far_first); }},
      {"32 lanes, distances 1, 2, 4, 8, 16",
       [](Row values, Products products) { return numerics::sums_lanes(values, 32, products, Tree::near_first); }},
  };
  const float square = numerics::sums_sequential(row, Products::rounded).squares / static_cast<float>(row.size());
  fmt::print("\nOne pass: the mean of the squares, Σx²/n, less the square of the mean, (Σx/n)². In single precision.\n"
             "Both are near {:.0f}, and neighbouring floats are {} apart there.\n\n"
             "                                            without fmaf             with fmaf\n"
             "  order in which x and x² are added      variance      rstd      variance      rstd\n",
             square, std::nextafter(square, 2 * square) - square);
  for (const Order& order : orders) {
    std::string line = fmt::format("  {:<36}", order.name);
    for (const Products products : {Products::rounded, Products::fused}) {
      const float variance =
          numerics::textbook(order.sums(row, products), static_cast<std::int64_t>(row.size()), products);
      line += fmt::format("{:>11.4g}{:>10}   ", variance, rstd_text(variance));
    }
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
  fmt::print("\n  distances   between the lanes that a tree adds together, step by step\n");
}

void print_all_orders(Row row) {
  fmt::print("\nThe same for every order in which one thread can add up ten elements:\n");
  for (const auto& [products, name] : {std::pair{Products::rounded, "without fmaf"}, {Products::fused, "with fmaf"}}) {
    const std::map<float, std::int64_t> variances = numerics::textbook_in_all_orders(row, products);
    std::int64_t all = 0;
    for (const auto& [variance, orders] : variances) all += orders;
    fmt::print("\n  {:<18}  variance      rstd    orders, of {}\n", name, all);
    for (const auto& [variance, orders] : variances) {
      fmt::print("  {:>28.4g}{:>10}{:>10}{:>11}\n", variance, rstd_text(variance), orders,
                 percent(static_cast<double>(orders) / static_cast<double>(all)));
    }
  }
}

void print_methods(Row row, double truth) {
  const auto n = static_cast<std::int64_t>(row.size());
  const auto print = [truth](const char* method, float variance) {
    fmt::print("  {:<54}{:>11.5g}{:>14}{:>10}\n", method, variance, percent(std::abs(variance - truth) / truth),
               rstd_text(variance));
  };
  fmt::print("\nOther ways to the variance of the same row, without fmaf:\n\n  {:<54}{:>11}{:>14}{:>10}\n", "",
             "variance", "error", "rstd");
  print("one pass: Σx²/n − (Σx/n)², Kahan's compensated sums", numerics::textbook(numerics::sums_kahan(row), n));
  print("one pass: Σx²/n − (Σx/n)², sums in double", numerics::textbook_in_double(row));
  print("one pass: the same formula, of x − x[0]", numerics::shifted(row));
  print("one pass: Welford, one thread", numerics::welford(row));
  print("one pass: Welford, 32 lanes, distances 16, 8, 4, 2, 1", numerics::welford_lanes(row, 32, Tree::far_first));
  print("one pass: Welford, 32 lanes, distances 1, 2, 4, 8, 16", numerics::welford_lanes(row, 32, Tree::near_first));
  print("two passes: the mean, then Σ(x − mean)²/n", numerics::two_pass(row));
  print("two passes, corrected: less (Σ(x − mean)/n)²", numerics::corrected_two_pass(row));
}

// ---- Error over κ

/// The columns of the table; the data have half-decades as well.
bool in_table(double kappa) { return kappa == 1 || kappa == 1e2 || kappa == 1e3 || kappa == 1e4 || kappa == 1e5; }

std::string kappa_heading(double kappa) {
  static const char* const powers[] = {"1", "10", "10²", "10³", "10⁴", "10⁵"};
  return fmt::format("κ = {}", powers[std::lround(std::log10(kappa))]);
}

std::string slope_text(const numerics::MethodErrors& errors) {
  const std::optional<double> slope = errors.slope();
  return errors.method->slope == 0 || !slope ? "" : fmt::format("{:.1f}", *slope);
}

void print_table(const numerics::Experiment& experiment) {
  fmt::print("\nN = {} elements, {} lanes, {} rows for each κ\n{:<30}{:<15}", experiment.n, experiment.lanes,
             experiment.rows, "method", "bound");
  for (const numerics::Measured& measured : experiment.methods.at(0).by_kappa) {
    if (in_table(measured.kappa)) fmt::print("{:>8}", kappa_heading(measured.kappa));
  }
  fmt::print("{:>7}{:>6}\n", "/bound", "slope");
  for (const numerics::MethodErrors& errors : experiment.methods) {
    std::string line = fmt::format("{:<30}{:<15}", errors.method->name, errors.method->formula);
    double worst = 0;
    for (const numerics::Measured& measured : errors.by_kappa) {
      worst = std::max(worst, measured.error_over_bound);
      if (in_table(measured.kappa)) line += fmt::format("{:>8.1e}", measured.error);
    }
    line += fmt::format("{:>7.2f}{:>6}", worst, slope_text(errors));
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

/// Four digits are enough for a plot, and no library's last bit shows in them.
double rounded(double value) { return std::stod(fmt::format("{:.3e}", value)); }

nlohmann::ordered_json experiment_json(const numerics::Experiment& experiment) {
  nlohmann::ordered_json methods = nlohmann::ordered_json::array();
  for (const numerics::MethodErrors& errors : experiment.methods) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (const numerics::Measured& measured : errors.by_kappa) {
      points.push_back({{"kappa", rounded(measured.kappa)},
                        {"error", rounded(measured.error)},
                        {"bound", rounded(measured.bound)},
                        {"error_over_bound", rounded(measured.error_over_bound)}});
    }
    methods.push_back({{"method", errors.method->name}, {"bound", errors.method->formula}, {"points", points}});
  }
  return {{"n", experiment.n}, {"lanes", experiment.lanes}, {"rows", experiment.rows}, {"methods", methods}};
}

}  // namespace

ExitCode numerics_example() {
  const std::vector<float> row = numerics::example_row();
  const testing::Moments floats = testing::moments(std::span<const float>(row));
  print_row(testing::moments(std::span<const double>(numerics::example_decimals())), floats);
  print_orders(row);
  print_all_orders(row);
  print_methods(row, floats.variance);
  return success;
}

ExitCode numerics_kappa(const KappaOptions& options) {
  const std::vector<numerics::Experiment> experiments = numerics::experiments();
  if (!options.svg.empty()) {
    write_text(options.svg, options.bounds ? bounds_plot(experiments) : errors_plot(experiments.back()));
    fmt::print("Drawn: {}\n", options.svg);
    return success;
  }
  if (options.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const numerics::Experiment& experiment : experiments) all.push_back(experiment_json(experiment));
    fmt::print("{}\n", nlohmann::ordered_json{{"experiments", all}}.dump(1));
    return success;
  }
  fmt::print("How much of the variance each method loses: the largest |variance − exact| ÷ exact, over random rows\n"
             "of floats from N(1, σ²), with σ chosen for κ = √(1 + mean²/variance); for κ = 1 the mean is 0.\n"
             "An error of 1 leaves no digit right.\n");
  for (const numerics::Experiment& experiment : experiments) print_table(experiment);
  fmt::print("\n"
             "  u, D      u = 2⁻²⁴; D = N/lanes + log₂ lanes, the longest chain of additions with lanes\n"
             "  κ′        the κ of x − x[0]\n"
             "  /bound    the largest error as a share of its row's bound: at most 1 if the bound holds\n"
             "  slope     of log error over log κ, where the bound says κ (1) or κ² (2)\n");
  return success;
}

ExitCode numerics_nist() {
  fmt::print("{}", nist_text(all_stages()));
  return success;
}

ExitCode numerics_train(const Place& place, const TrainOptions& options) {
  const std::string program = (place.build / "chapters/07_backward_train_example").string();
  const Finished finished = options.json || !options.svg.empty() ? run({program, "--json"}) : run({program});
  if (finished.exit_code == 127) {
    fmt::print("{} is not built. Build it: cmake --build --preset simt --target 07_backward_train_example\n", program);
    return failure;
  }
  if (options.svg.empty() || finished.exit_code != 0) {
    fmt::print("{}", finished.output);
    return finished.exit_code == 0 ? success : failure;
  }
  const auto printed = nlohmann::json::parse(finished.output);
  TrainingCurve curve{.points = {}, .tolerance = printed.at("tolerance")};
  for (const auto& point : printed.at("points"))
    curve.points.push_back({point.at("step"), point.at("float"), point.at("double"), point.at("difference")});
  write_text(options.svg, training_plot(curve));
  fmt::print("Drawn: {}\n", options.svg);
  return success;
}

}  // namespace learn
