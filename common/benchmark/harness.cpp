#include <benchmark/harness.h>
#include <benchmark/measure.h>
#include <benchmark/workload.h>

#include <benchmark/benchmark.h>

#include <functional>
#include <vector>

namespace benchmarking {
namespace {

/// Kernels are added while static variables are initialised, before main() and before a GPU may be asked anything.
std::vector<std::function<void(const Sizes&)>>& registrations() {
  static std::vector<std::function<void(const Sizes&)>> list;
  return list;
}

std::string title(const std::string& subject, const std::string& name) {
  return subject == "COURSE" ? name : subject + ": " + name;
}

void register_one(const std::string& name, Cache cache, const Maker& make) {
  const std::string full_name = cache == Cache::none ? name : name + "/" + text(cache);
  benchmark::RegisterBenchmark(full_name.c_str(),
                               [=](benchmark::State& state) { measure(state, full_name, make, cache); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(launches_timed);
}

/// A kernel on rows, which make(rows, cols) prepares.
void register_on_rows(const std::string& name, const std::vector<Size>& sizes,
                      const std::function<std::unique_ptr<Workload>(std::int64_t rows, std::int64_t cols)>& make) {
  for (const Size& size : sizes) {
    const std::int64_t rows = size.elements / size.cols;
    register_one(name + "/rows:" + std::to_string(rows) + "/cols:" + std::to_string(size.cols), size.cache,
                 [=] { return make(rows, size.cols); });
  }
}

}  // namespace

bool add(const std::string& subject, const std::string& name, CopyLauncher launcher) {
  registrations().push_back([=](const Sizes& sizes) {
    for (const Size& size : sizes.copies) {
      register_one(title(subject, name) + "/count:" + std::to_string(size.elements), size.cache,
                   [=] { return make_workload(launcher, size.elements); });
    }
  });
  return true;
}

bool add(const std::string& subject, const std::string& name, NormLauncher launcher) {
  registrations().push_back([=](const Sizes& sizes) {
    register_on_rows(title(subject, name), sizes.norms,
                     [=](std::int64_t rows, std::int64_t cols) { return make_workload(launcher, rows, cols); });
  });
  return true;
}

bool add(const std::string& subject, const std::string& name, NormBackwardLauncher launcher, Gradients gradients) {
  registrations().push_back([=](const Sizes& sizes) {
    register_on_rows(title(subject, name), sizes.backwards, [=](std::int64_t rows, std::int64_t cols) {
      return make_workload(launcher, rows, cols, gradients);
    });
  });
  return true;
}

void register_all(const Sizes& sizes) {
  for (const auto& registration : registrations()) registration(sizes);
}

}  // namespace benchmarking
