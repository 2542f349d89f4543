// The bounds hold, they say something, and the errors grow as they say.
#include <numerics/experiment.h>

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using numerics::Measured;
using numerics::MethodErrors;

namespace {

const std::vector<numerics::Experiment>& all() {
  static const std::vector<numerics::Experiment> experiments = numerics::experiments();
  return experiments;
}

const MethodErrors& find(const numerics::Experiment& experiment, const std::string& method) {
  for (const MethodErrors& errors : experiment.methods) {
    if (errors.method->name == method) return errors;
  }
  FAIL("the experiment has no method " << method);
  throw;
}

}  // namespace

TEST_CASE("every measured error of the variance is within its bound, where the bound is at most 1") {
  for (const numerics::Experiment& experiment : all()) {
    CAPTURE(experiment.n);
    for (const MethodErrors& errors : experiment.methods) {
      CAPTURE(errors.method->name);
      int judged = 0;
      for (const Measured& measured : errors.by_kappa) {
        CAPTURE(measured.kappa);
        if (measured.bound > 1) continue;
        ++judged;
        CHECK(measured.error > 0);
        CHECK(measured.error_over_bound <= 1);
      }
      CHECK(judged >= 3);
    }
  }
}

TEST_CASE("the bounds convict: the textbook formula breaks Welford's at once") {
  for (const numerics::Experiment& experiment : all()) {
    const MethodErrors &textbook = find(experiment, "textbook, lanes"),
                       &welford = find(experiment, "Welford + Chan, lanes");
    for (std::size_t i = 0; i < textbook.by_kappa.size(); ++i) {
      if (textbook.by_kappa[i].kappa >= 100) CHECK(textbook.by_kappa[i].error > welford.by_kappa[i].bound);
    }
  }
}

TEST_CASE("the textbook formula errs by κ², Welford's and Chan's by κ") {
  for (const numerics::Experiment& experiment : all()) {
    for (const MethodErrors& errors : experiment.methods) {
      if (errors.method->slope == 0) continue;
      CAPTURE(errors.method->name);
      REQUIRE(errors.slope().has_value());
      CHECK(*errors.slope() == doctest::Approx(errors.method->slope).epsilon(0.15));
    }
  }
}

TEST_CASE("the slope is that of a power law") {
  MethodErrors errors{nullptr, {{1, 1e-7, 1, 0}}};
  CHECK_FALSE(errors.slope().has_value());
  for (const double kappa : {10.0, 100.0, 1000.0}) errors.by_kappa.push_back({kappa, 1e-7 * kappa * kappa, 1, 0});
  CHECK(*errors.slope() == doctest::Approx(2));
  errors.by_kappa.push_back({1e4, 9, 1, 0});  // larger than the variance: left out
  CHECK(*errors.slope() == doctest::Approx(2));
}

TEST_CASE("the rows have the κ that they are made for") {
  for (const numerics::Experiment& experiment : all()) {
    const MethodErrors& kahan = find(experiment, "textbook, Kahan's sums");  // bound 5·κ²·u
    for (const Measured& measured : kahan.by_kappa) {
      const double largest = std::sqrt(measured.bound / (5 * numerics::u));
      CHECK(largest >= measured.kappa);
      CHECK(largest <= measured.kappa * (experiment.n == 64 ? 1.6 : 1.1));
    }
  }
}

TEST_CASE("compensated sums do not save the textbook formula; Welford is safe, and two corrected passes are better") {
  for (const numerics::Experiment& experiment : all()) {
    const MethodErrors &kahan = find(experiment, "textbook, Kahan's sums"),
                       &welford = find(experiment, "Welford + Chan, lanes"),
                       &corrected = find(experiment, "corrected two passes, lanes");
    for (std::size_t i = 0; i < kahan.by_kappa.size(); ++i) {
      const double kappa = kahan.by_kappa[i].kappa;
      CAPTURE(kappa);
      if (kappa >= 1e3) CHECK(kahan.by_kappa[i].error >= 100 * welford.by_kappa[i].error);
      if (kappa >= 1e4) CHECK(kahan.by_kappa[i].error > 1);
      CHECK(corrected.by_kappa[i].error < welford.by_kappa[i].error);
    }
  }
}
