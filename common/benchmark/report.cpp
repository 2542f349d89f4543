#include <benchmark/report.h>
#include <host/backend.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#ifdef LNH_CUDA
#include <benchmark/device_timer.h>
#endif

namespace benchmarking {
namespace {

/// What a command prints first; "unknown" if it fails.
std::string first_line_of(const char* command) {
  char line[256] = "";
  if (FILE* const output = popen(command, "r")) {
    if (std::fgets(line, sizeof(line), output) == nullptr) line[0] = '\0';
    pclose(output);
  }
  const std::string text(line);
  const std::string first = text.substr(0, text.find('\n'));
  return first.empty() ? "unknown" : first;
}

std::string commit() {
  if (const char* const given = std::getenv("LNH_COMMIT")) return given;
  return first_line_of("git -C '" LNH_SOURCE_DIR "' describe --always --dirty 2>/dev/null");
}

/// A counter, how its column is called, and how its values are written.
struct Column {
  const char* counter;
  const char* heading;
  int decimals;
  double scale;
};

#ifdef LNH_CUDA
const std::vector<Column> columns = {{"median_ms", "median ms", 4, 1},
                                     {"spread", "spread %", 1, 100},
                                     {"least_bytes", "least MB", 1, 1e-6},
                                     {"GB/s", "GB/s", 0, 1},
                                     {"of_copy", "of copy", 2, 1}};
const std::vector<Column> progress = {{"median_ms", "ms", 4, 1}, {"of_copy", "of a copy", 2, 1}};
constexpr const char* explanation =
    "Median of at most 20 launches by device events, outputs verified afterwards. GB/s: the "
    "least bytes that the operation must move,\n"
    "over that time. of copy: GB/s over that of a copy of as many elements, measured "
    "between the launches. spread: from the\n"
    "10th to the 90th percentile; a difference inside it is no difference.\n";
#else
const std::vector<Column> columns = {
    {"model_load_requests", "loads", 0, 1},   {"model_store_requests", "stores", 0, 1},
    {"model_sectors", "sectors", 0, 1},       {"model_bytes_requested", "requested", 0, 1},
    {"model_bytes_touched", "touched", 0, 1}, {"least_bytes", "least", 0, 1},
    {"model_barriers", "barriers", 0, 1},     {"model_shuffles", "shuffles", 0, 1},
    {"emulator_ms", "emulator_ms", 1, 1}};
const std::vector<Column> progress = {{"model_bytes_touched", "bytes touched", 0, 1}};
constexpr const char* explanation = "MODEL, not a measurement: the executor counts what each warp asks of memory. "
                                    "loads, stores: requests; sectors: of 32 bytes;\n"
                                    "requested, touched, least: bytes. emulator_ms is how long this CPU took to run "
                                    "the kernel under the executor. It says\n"
                                    "nothing about the time on a GPU.\n";
#endif

/// What Google Benchmark appends to every name.
constexpr const char* appended = "/iterations:1/manual_time";
std::string short_name(const std::string& name) { return name.substr(0, name.find("/iterations:")); }

class Table : public benchmark::BenchmarkReporter {
public:
  bool ReportContext(const Context& context) override {
    name_width_ = static_cast<int>(context.name_field_width - std::strlen(appended));
    std::ostream& out = GetOutputStream();
    out << explanation << '\n' << std::left << std::setw(name_width_) << "kernel / size" << std::right;
    for (const Column& column : columns) out << std::setw(width) << column.heading;
    out << '\n';
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    std::ostream& out = GetOutputStream();
    for (const Run& run : runs) {
      out << std::left << std::setw(name_width_) << short_name(run.benchmark_name()) << std::right << std::fixed;
      for (const Column& column : columns) {
        const auto counter = run.counters.find(column.counter);
        if (counter == run.counters.end()) {
          out << std::setw(width) << "failed";
        } else {
          out << std::setw(width) << std::setprecision(column.decimals) << counter->second.value * column.scale;
        }
      }
      out << std::endl;
    }
  }

private:
  static constexpr int width = 12;

  int name_width_ = 0;
};

/// "1 min 5 s"
std::string duration(double seconds) {
  const int whole = static_cast<int>(std::lround(seconds));
  return (whole >= 60 ? std::to_string(whole / 60) + " min " : "") + std::to_string(whole % 60) + " s";
}

class Keeper : public benchmark::BenchmarkReporter {
public:
  Keeper(ResultsFile& file, int count) : file_(file), count_(count) {}

  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      nlohmann::ordered_json benchmark{{"name", short_name(run.benchmark_name())}};
      if (!run.error_message.empty()) benchmark["wrong"] = run.error_message;
      for (const auto& [name, counter] : run.counters) benchmark[name] = counter.value;
      file_.add(benchmark);
      print(benchmark);
    }
  }

private:
  void print(const nlohmann::ordered_json& benchmark) {
    ++done_;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    std::ostringstream line;
    line << '[' << done_ << '/' << count_ << "] " << duration(passed.count() / done_ * (count_ - done_)) << " left  "
         << benchmark.at("name").get<std::string>() << std::fixed;
    if (benchmark.contains("wrong")) {
      line << "  failed: " << benchmark.at("wrong").get<std::string>();
    } else {
      for (const Column& column : progress)
        line << "  " << std::setprecision(column.decimals) << benchmark.at(column.counter).get<double>() * column.scale
             << ' ' << column.heading;
    }
    GetOutputStream() << line.str() << std::endl;
  }

  ResultsFile& file_;
  int count_, done_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

std::map<std::string, std::string> context() {
  std::map<std::string, std::string> context{{"backend", backend::name}, {"commit", commit()}};
#ifdef LNH_CUDA
  int driver = 0;
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  context["card"] = card().name;
  context["driver"] = first_line_of("nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0 2>/dev/null") +
                      ", up to CUDA " + version(driver);
  context["toolkit"] = "CUDA " + version(CUDART_VERSION);
#else
  context["card"] = "none: the executor on the CPU counts; its time says nothing about a GPU";
#endif
#ifdef __clang__
  context["compiler"] = __VERSION__;
#else
  context["compiler"] = "g++ " __VERSION__;
#endif
  return context;
}

std::string clocks() {
  return first_line_of(
      "nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv,noheader -i 0 2>/dev/null");
}

std::unique_ptr<benchmark::BenchmarkReporter> make_table() { return std::make_unique<Table>(); }

std::unique_ptr<benchmark::BenchmarkReporter> make_keeper(ResultsFile& file, int count) {
  return std::make_unique<Keeper>(file, count);
}

}  // namespace benchmarking
