#include <learn/nist.h>

#include <fmt/format.h>
#include <testing/run.h>
#include <testing/strd.h>

#include <algorithm>
#include <cmath>

namespace learn {
namespace {

/// Wide enough for the set's name.
std::string cell(const std::string& text, const testing::StrdSet& set) {
  return fmt::format("{:>{}}", text, std::max<std::size_t>(set.name.size(), 4) + 1);
}

std::string digits_text(const Digits& digits) { return digits ? fmt::format("{:.1f}", *digits) : "NaN"; }

bool is_layer_norm(const Stage& stage) {
  const auto* norm = std::get_if<NormLauncher>(&stage.launcher);
  return norm != nullptr && norm->norm() == Norm::layer_norm;
}

double kappa(const testing::StrdSet& set) {
  return std::sqrt(1 + set.binary32_mean * set.binary32_mean / set.binary32_variance);
}

std::string kappa_text(const testing::StrdSet& set) {
  if (set.binary32_variance == 0) return "∞";
  const double value = kappa(set);
  return value < 1e5 ? fmt::format("{:.0f}", value) : fmt::format("{:.0e}", value);
}

}  // namespace

Digits digits(double got, double expected) {
  if (std::isnan(got)) return std::nullopt;
  if (got == expected) return digits_of_float;
  const double error = std::abs(got - expected) / std::abs(expected);
  return error < 1 ? std::min(-std::log10(error), digits_of_float) : 0;
}

std::vector<NistDigits> nist_digits(const Stage& stage) {
  std::vector<NistDigits> result;
  for (const testing::StrdSet& set : testing::strd_sets()) {
    testing::NormCase input;
    input.name = set.name;
    input.rows = 1;
    input.cols = static_cast<std::int64_t>(set.values.size());
    input.x.assign(set.values.begin(), set.values.end());
    input.eps = 0;
    const testing::NormResult got = testing::run(std::get<NormLauncher>(stage.launcher), input);
    const double rstd = got.rstd.at(0);
    result.push_back(
        {set.name, digits(got.mean.at(0), set.binary32_mean), digits(1 / (rstd * rstd), set.binary32_variance)});
  }
  return result;
}

std::string nist_text(const std::vector<Stage>& stages) {
  const std::vector<testing::StrdSet> sets = testing::strd_sets();
  const auto line = [&](const std::string& name, auto&& text_of) {
    std::string cells = fmt::format("{:<27}", name);
    for (std::size_t i = 0; i < sets.size(); ++i) cells += cell(text_of(i), sets[i]);
    return cells + "\n";
  };
  std::string text =
      "Correct decimal digits of mean and variance on NIST's data sets, each a row, on the CPU executor.\n"
      "Right is the exact value of the data as rounded to binary32; a float holds 7.2 digits.\n\n";
  text += line("", [&](std::size_t i) { return sets[i].name; });
  text += line("elements", [&](std::size_t i) { return std::to_string(sets[i].values.size()); });
  text += line("κ", [&](std::size_t i) { return kappa_text(sets[i]); });

  std::string means = "\ndigits of the mean\n", variances = "\ndigits of the variance, 1/rstd² with eps = 0\n", chapter;
  for (const Stage& stage : stages) {
    if (!is_layer_norm(stage)) continue;
    const std::vector<NistDigits> kept = nist_digits(stage);
    if (stage.chapter != chapter) {
      chapter = stage.chapter;
      means += chapter + "\n";
      variances += chapter + "\n";
    }
    const std::string name = "  " + stage.kernel.substr(stage.kernel.rfind(':') + 1);
    means += line(name, [&](std::size_t i) { return digits_text(kept[i].mean); });
    variances += line(name, [&](std::size_t i) { return digits_text(kept[i].variance); });
  }
  text += means + variances;
  text += "\n"
          "  κ         √(1 + mean²/variance): how far the row lies from 0, measured by its spread\n"
          "  0.0       not one digit is right: the error is as large as the value, or larger\n"
          "  NaN       the kernel found a variance below 0, so rstd is no number\n"
          "  NumAcc3   κ·u is 0.64: no bound promises a digit of its variance to any float kernel\n"
          "  NumAcc4   its values are one and the same float: the variance is 0, and any other is wrong\n";
  return text;
}

}  // namespace learn
