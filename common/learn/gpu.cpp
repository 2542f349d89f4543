#include <learn/gpu.h>

#include <fmt/format.h>
#include <learn/exercise_program.h>
#include <learn/files.h>
#include <learn/marks.h>
#include <learn/process.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <future>
#include <regex>

namespace learn {
namespace {

namespace fs = std::filesystem;

constexpr int sanitizer_limit_seconds = 300;  // a tool makes a test some ten times slower

/// Where a tool of the CUDA Toolkit is: in PATH, or where the toolkit is installed by default; else empty.
std::string find_tool(const std::string& name) {
  const Finished found =
      run({"/bin/sh", "-c", fmt::format("command -v {0} || ls /usr/local/cuda/bin/{0} 2>/dev/null", name)});
  const std::vector<std::string> lines = lines_of(found.output);
  return found.exit_code == 0 && !lines.empty() ? lines.front() : "";
}

/// The build folder of the cuda preset, configured.
Place gpu_place(const Place& place) {
  if (run({"nvidia-smi", "-L"}).exit_code != 0) {
    throw MachineError(
        "There is no GPU here that nvidia-smi -L can see. Without --gpu the CPU executor runs the code.");
  }
  const std::string nvcc = find_tool("nvcc");
  if (nvcc.empty()) {
    throw MachineError("There is a GPU here, but no nvcc: install the CUDA Toolkit, 12.0 or newer "
                       "(https://developer.nvidia.com/cuda-downloads). Without --gpu the CPU executor runs the code.");
  }
  Place gpu{place.root, place.root / "build/cuda"};
  if (!fs::exists(gpu.build / "build.ninja")) {
    const Finished configured = run({"env", "CUDACXX=" + nvcc, "cmake", "--fresh", "--preset", "cuda"});
    if (configured.exit_code != 0) {
      throw MachineError("CMake could not configure the cuda preset:\n" + configured.output);
    }
  }
  return gpu;
}

/// What a tool of compute-sanitizer has against the program; nothing if it has nothing.
std::optional<Fault> fault_by(const std::string& sanitizer, const std::string& tool, const fs::path& program,
                              const Exercise& exercise) {
  constexpr int has_found = 86;
  const Finished finished = run({"timeout", std::to_string(sanitizer_limit_seconds), sanitizer, "--tool", tool,
                                 "--error-exitcode", std::to_string(has_found), program.string(), "--no-colors"});
  if (finished.exit_code == 0) return std::nullopt;
  if (finished.exit_code != has_found) {  // it may not have looked at all
    const std::string words = fmt::format("compute-sanitizer {} ended with exit code {}", tool, finished.exit_code);
    const std::vector<std::string> lines = lines_of(finished.output);
    return Fault{tool, words, "", 0, {words, lines.empty() ? "" : "  " + lines.back()}};
  }
  return sanitizer_fault(tool, finished.output, exercise.file.string());
}

}  // namespace

Fault sanitizer_fault(const std::string& tool, const std::string& output, const std::string& file) {
  static const std::regex prefix(R"(^=========(?: +|$))");
  const std::regex own(R"(\bin )" + fs::path(file).filename().string() + R"(:(\d+))");
  Fault fault{tool, "", file, 0, {}};
  for (const std::string& line : lines_of(output)) {
    std::smatch found;
    if (!std::regex_search(line, found, prefix)) continue;
    const std::string words = std::regex_replace(found.suffix().str(), own, "at " + file + ":$1");
    if (words.empty() && !fault.text.empty()) break;  // the first report ends
    // Where the host launched it says nothing about the kernel.
    if (words.empty() || words.starts_with("COMPUTE-SANITIZER") || words.starts_with("Host Frame") ||
        words.starts_with("Saved host backtrace"))
      continue;
    if (fault.line == 0 && std::regex_search(line, found, own)) fault.line = std::stoi(found[1]);
    if (fault.title.empty()) fault.title = words;
    fault.text.push_back(fault.text.empty() ? fmt::format("compute-sanitizer {}: {}", tool, words) : "  " + words);
  }
  return fault;
}

Verdict judge_on_gpu(const Place& place, const Exercise& exercise, const CheckOptions& options) {
  const Place gpu = gpu_place(place);
  const ExerciseProgram program = build_exercise(gpu, exercise, false);
  if (!program.built) return program.verdict;
  Verdict verdict = run_exercise(gpu, program, 0);
  if (!verdict.passed()) {
    if (!options.verbose && verdict.failed > 1) {
      verdict.notes.push_back(
          fmt::format("The first test that failed is shown; ./learn check {} --gpu -v shows all.", exercise.id));
    }
    verdict.next = fmt::format("./learn check {} runs the same on the CPU, where the executor sees more.", exercise.id);
    return verdict;
  }
  verdict.next = fmt::format("./learn compare {} --gpu sets its time beside the reference's.", exercise.id);
  const std::string sanitizer = find_tool("compute-sanitizer");
  if (sanitizer.empty()) {
    verdict.sentence = verdict.subject + " passes on the GPU: right values.";
    verdict.notes.push_back("compute-sanitizer is not installed, so races and bad accesses were not looked for.");
    return verdict;
  }
  std::vector<std::future<std::optional<Fault>>> tools;
  for (const char* tool : {"memcheck", "racecheck", "initcheck", "synccheck"}) {
    tools.push_back(
        std::async(std::launch::async, [&, tool] { return fault_by(sanitizer, tool, program.program, exercise); }));
  }
  for (auto& tool : tools) {
    if (const std::optional<Fault> fault = tool.get()) verdict.faults.push_back(*fault);
  }
  if (verdict.faults.empty()) {
    verdict.sentence =
        verdict.subject + " passes on the GPU: right values, and no finding of compute-sanitizer's four tools.";
  } else {
    verdict.outcome = Outcome::failed;
    verdict.sentence = verdict.subject + " has right values on the GPU, but compute-sanitizer has findings.";
    verdict.next = fmt::format("./learn check {} runs the same on the CPU, where the executor sees more.", exercise.id);
  }
  return verdict;
}

GpuCosts gpu_costs(const Place& place, const Exercise& exercise, const std::string& subject) {
  const Place gpu = gpu_place(place);
  const std::string test = exercise.target + "_" + subject;
  fs::path benchmark_source = place.root / exercise.file;
  benchmark_source.replace_filename(benchmark_source.stem().string() + "_benchmark.cu");
  const bool has_benchmark = fs::exists(benchmark_source);
  std::vector<std::string> targets{test};
  if (has_benchmark) targets.push_back(test + "_benchmark");
  const Finished built = build(gpu, targets);
  if (built.exit_code != 0) throw std::runtime_error("nvcc did not build it:\n" + built.output);

  GpuCosts costs;
  // "Function _ZN8exercise…:" and below it " REG:32 STACK:0 SHARED:0 LOCAL:0 …"
  static const std::regex usage(R"(.*REG:(\d+) STACK:(\d+).*)");
  const std::string dump = find_tool("cuobjdump");
  bool is_of_the_exercise = false;
  if (!dump.empty()) {
    for (const std::string& line :
         lines_of(run({dump, "-res-usage", (gpu.build / "chapters" / test).string()}).output)) {
      std::smatch found;
      if (line.find("Function ") != std::string::npos) {
        is_of_the_exercise = line.find("8exercise") != std::string::npos;
      } else if (is_of_the_exercise && std::regex_match(line, found, usage)) {
        costs.registers = std::max(costs.registers.value_or(0), std::stoi(found[1]));
        costs.stack_bytes = std::max(costs.stack_bytes.value_or(0), std::stoi(found[2]));
      }
    }
  }
  if (!has_benchmark) return costs;
  const fs::path out = gpu.build / (test + ".json");
  const Finished measured = run({(gpu.build / "chapters" / (test + "_benchmark")).string(),
                                 "--benchmark_filter=exercise::.*(count:[0-9]+|cols:4096)/cold_L2",
                                 "--benchmark_out=" + out.string(), "--benchmark_out_format=json"});
  if (measured.exit_code != 0) throw std::runtime_error("The benchmark failed:\n" + measured.output);
  const auto results = nlohmann::json::parse(read_text(out));
  double largest = 0;  // the size that says most
  for (const auto& entry : results.at("benchmarks")) {
    const double bytes = entry.at("least_bytes");
    if (bytes <= largest) continue;
    largest = bytes;
    costs.of_copy = entry.at("of_copy").get<double>();
    costs.median_ms = entry.at("median_ms").get<double>();
    const std::string name = entry.at("name");  // "YOUR CODE: exercise::layer_norm/rows:65536/…/iterations:20/…"
    const std::size_t begin = name.find("exercise::");
    costs.workload = name.substr(begin, name.find("/iterations:") - begin);
  }
  return costs;
}

}  // namespace learn
