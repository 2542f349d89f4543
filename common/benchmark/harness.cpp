#include <benchmark/harness.h>
#include <benchmark/measure.h>
#include <benchmark/workload.h>

#include <benchmark/benchmark.h>

#include <functional>
#include <vector>

namespace benchmarking {
namespace {

/// Kernels are added while static variables are initialised, before main() and before a GPU may be asked anything. Each
/// registration says how many benchmarks it made.
std::vector<std::function<int(const Plan&)>>& registrations() {
  static std::vector<std::function<int(const Plan&)>> list;
  return list;
}

std::string title(const std::string& subject, const std::string& name) {
  return subject == "COURSE" ? name : subject + ": " + name;
}

int register_one(const Plan& plan, const std::string& name, Cache cache, const Maker& make) {
  const std::string full_name = cache == Cache::none ? name : name + "/" + text(cache);
  if (plan.is_measured && plan.is_measured(full_name)) return 0;
  const double most_seconds = plan.seconds_per_point;
  benchmark::RegisterBenchmark(full_name.c_str(),
                               [=](benchmark::State& state) { measure(state, full_name, make, cache, most_seconds); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
  return 1;
}

/// A kernel on rows, which make(rows, cols) prepares.
int register_on_rows(const Plan& plan, const std::string& name, const std::vector<Size>& sizes, bool is_variant,
                     const std::function<std::unique_ptr<Workload>(std::int64_t rows, std::int64_t cols)>& make) {
  int registered = 0;
  for (const Size& size : sizes) {
    if (is_variant && !size.large) continue;
    registered += register_one(plan, name + "/rows:" + std::to_string(size.rows) + "/cols:" + std::to_string(size.cols),
                               size.cache, [=] { return make(size.rows, size.cols); });
  }
  return registered;
}

bool add_norm(const std::string& subject, const std::string& name, NormLauncher launcher, bool is_variant) {
  registrations().push_back([=](const Plan& plan) {
    return register_on_rows(plan, title(subject, name), plan.sizes.norms, is_variant,
                            [=](std::int64_t rows, std::int64_t cols) { return make_workload(launcher, rows, cols); });
  });
  return true;
}

}  // namespace

bool add(const std::string& subject, const std::string& name, CopyLauncher launcher) {
  registrations().push_back([=](const Plan& plan) {
    int registered = 0;
    for (const Size& size : plan.sizes.copies) {
      registered += register_one(plan, title(subject, name) + "/count:" + std::to_string(size.rows), size.cache,
                                 [=] { return make_workload(launcher, size.rows); });
    }
    return registered;
  });
  return true;
}

bool add(const std::string& subject, const std::string& name, NormLauncher launcher) {
  return add_norm(subject, name, launcher, false);
}

bool add_variant(const std::string& subject, const std::string& name, NormLauncher launcher) {
  return add_norm(subject, name, launcher, true);
}

bool add(const std::string& subject, const std::string& name, NormBackwardLauncher launcher, Gradients gradients) {
  registrations().push_back([=](const Plan& plan) {
    return register_on_rows(
        plan, title(subject, name), plan.sizes.backwards, gradients != Gradients::all,
        [=](std::int64_t rows, std::int64_t cols) { return make_workload(launcher, rows, cols, gradients); });
  });
  return true;
}

int register_all(const Plan& plan) {
  int registered = 0;
  for (const auto& registration : registrations()) registered += registration(plan);
  return registered;
}

}  // namespace benchmarking
