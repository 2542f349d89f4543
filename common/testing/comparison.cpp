#include <testing/comparison.h>

#include <testing/compare.h>
#include <testing/reference.h>
#include <testing/run.h>

#include <cstdio>
#include <sstream>

namespace testing {
namespace {

constexpr std::int64_t rows = 64, cols = 4096;
constexpr std::uint64_t seed = 1;

std::string json(const Floor& floor) {
  std::ostringstream text;
  text << R"("load_requests": )" << floor.load_requests << R"(, "store_requests": )" << floor.store_requests
       << R"(, "sectors": )" << floor.sectors << R"(, "bytes_asked": )" << floor.bytes_asked << R"(, "bytes_touched": )"
       << floor.bytes_touched;
  return text.str();
}

}  // namespace

Floor floor_of(const std::vector<std::int64_t>& read, const std::vector<std::int64_t>& written) {
  constexpr std::uint64_t request_bytes = 512, sector_bytes = 32;  // 16 bytes in each of 32 lanes
  Floor floor;
  const auto add = [&](const std::vector<std::int64_t>& buffers, std::uint64_t& requests) {
    for (const std::int64_t floats : buffers) {
      const std::uint64_t bytes = static_cast<std::uint64_t>(floats) * sizeof(float);
      const std::uint64_t sectors = (bytes + sector_bytes - 1) / sector_bytes;
      requests += (bytes + request_bytes - 1) / request_bytes;
      floor.sectors += sectors;
      floor.bytes_asked += bytes;
      floor.bytes_touched += sectors * sector_bytes;
    }
  };
  add(read, floor.load_requests);
  add(written, floor.store_requests);
  return floor;
}

std::string comparison_text(const Workload& workload) {
  const simt::LaunchCounts& counts = workload.counts;
  const simt::AccessCounts loads = counts.global_loads(), stores = counts.global_stores();
  const Floor asked{loads.requests, stores.requests, loads.sectors + stores.sectors, counts.bytes_requested(),
                    counts.bytes_touched()};
  const std::vector<float> best(workload.truth.begin(), workload.truth.end());
  std::ostringstream text;
  text.precision(4);
  text << R"(comparison: {"workload": ")" << workload.name << R"(", "digits": )"
       << correct_digits(workload.got, workload.truth, workload.cols) << R"(, "digits_best": )"
       << correct_digits(best, workload.truth, workload.cols) << ", " << json(asked) << R"(, "barriers": )"
       << counts.barriers << R"(, "shuffles": )" << counts.shuffles << R"(, "floor": )"
       << (workload.floor ? "{" + json(*workload.floor) + "}" : "null") << "}\n";
  return text.str();
}

void print_comparison(const Workload& workload) {
  std::fputs(comparison_text(workload).c_str(), stdout);
  std::fflush(stdout);
}

NormCase compared_rows() { return make_case(rows, cols, Data::centred, seed); }

Workload norm_workload(NormLauncher launcher) {
  const NormCase input = compared_rows();
  const simt::CountScope counts;
  const NormResult result = run(launcher, input);
  Workload workload{compared_rows_name, result.y, {}, cols, counts.total(), {}};
  if (launcher.norm() == Norm::rms_norm) {
    workload.truth = rms_norm_reference(input.x, input.gamma, rows, cols, input.eps).y;
    workload.floor = floor_of({rows * cols, cols}, {rows * cols, rows});
  } else {
    workload.truth = layer_norm_reference(input.x, input.gamma, input.beta, rows, cols, input.eps).y;
    workload.floor = floor_of({rows * cols, cols, cols}, {rows * cols, rows, rows});
  }
  return workload;
}

Workload backward_workload(NormBackwardLauncher launcher, BackwardRunOptions options) {
  const bool rms_norm = launcher.norm() == Norm::rms_norm;
  const BackwardCase input = make_backward_case(launcher.norm(), compared_rows(), seed);
  const simt::CountScope counts;
  const BackwardResult result = run_backward(launcher, input, options);
  const BackwardReference truth = norm_backward_reference(input);

  std::vector<std::int64_t> read = {rows * cols, rows * cols, rows}, written;  // x, dy, rstd
  if (!rms_norm) read.push_back(rows);                                         // mean
  if (options.dx) {
    read.push_back(cols);  // gamma
    written.push_back(rows * cols);
  }
  if (options.dgamma) written.push_back(cols);
  if (options.dbeta && !rms_norm) written.push_back(cols);
  return {compared_rows_name,
          options.dx ? result.dx : result.dgamma,
          options.dx ? truth.dx : truth.dgamma,
          cols,
          counts.total(),
          floor_of(read, written)};
}

}  // namespace testing
