#include <benchmark/results_file.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace benchmarking {
namespace {

std::string now() {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::ostringstream text;
  text << std::put_time(&utc, "%Y-%m-%dT%H:%M:%S+00:00");
  return text.str();
}

}  // namespace

ResultsFile::ResultsFile(std::filesystem::path file, const std::map<std::string, std::string>& context)
    : file_(std::move(file)) {
  stored_["context"]["date"] = now();
  for (const auto& [name, value] : context) stored_["context"][name] = value;
  stored_["benchmarks"] = nlohmann::ordered_json::array();
  if (!std::filesystem::exists(file_)) return;

  nlohmann::ordered_json kept;
  try {
    std::ifstream in(file_);
    kept = nlohmann::ordered_json::parse(in);
    for (const auto& [name, value] : context) {
      if (kept.at("context").value(name, "") == value) continue;
      throw std::runtime_error(file_.string() + " holds measurements with another " + name + ": " +
                               kept.at("context").value(name, "unknown") + " there, " + value +
                               " here. Move it away, or keep the new ones in another folder.");
    }
    for (const auto& benchmark : kept.at("benchmarks")) static_cast<void>(benchmark.at("name").get<std::string>());
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(file_.string() + " holds no measurements that can be gone on from (" + error.what() +
                             "). Move it away, or keep the new ones in another folder.");
  }
  stored_ = std::move(kept);
}

bool ResultsFile::holds(const std::string& name) const {
  const auto& benchmarks = stored_.at("benchmarks");
  return std::any_of(benchmarks.begin(), benchmarks.end(), [&](const auto& benchmark) {
    return benchmark.at("name") == name && !benchmark.contains("wrong");
  });
}

void ResultsFile::add(const nlohmann::ordered_json& benchmark) {
  auto& benchmarks = stored_.at("benchmarks");
  const auto place = std::find_if(benchmarks.begin(), benchmarks.end(),
                                  [&](const auto& known) { return known.at("name") == benchmark.at("name"); });
  if (place == benchmarks.end()) {
    benchmarks.push_back(benchmark);
  } else {
    *place = benchmark;
  }
  write();
}

void ResultsFile::note(const std::string& name, const std::string& value) {
  stored_.at("context")[name] = value;
  write();
}

void ResultsFile::write() const {
  // Written beside it and put in its place as a whole.
  std::filesystem::path beside = file_;
  beside += ".new";
  {
    std::ofstream out(beside);
    out << stored_.dump(2) << '\n';
    out.flush();
    if (!out) throw std::runtime_error(beside.string() + " cannot be written; is the disk full?");
  }
  std::filesystem::rename(beside, file_);
}

}  // namespace benchmarking
