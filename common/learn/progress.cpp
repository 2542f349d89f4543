#include <learn/progress.h>

#include <fmt/format.h>
#include <learn/exit_codes.h>
#include <learn/files.h>
#include <learn/marks.h>

#include <algorithm>
#include <ctime>
#include <regex>
#include <sstream>

namespace learn {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "progress.txt";
constexpr const char* head =
    "# How far you are, kept by ./learn. The file is yours: change it or delete it as you like.";

std::string text_of(Time time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::optional<Time> time_of(const std::string& text) {
  std::tm parts{};
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::from_time_t(timegm(&parts)));
}

/// Whether the field was understood.
bool take(Progress& progress, const std::string& key, const std::string& value) {
  for (const auto& [name, count] : {std::pair{"checks", &progress.checks}, std::pair{"hints", &progress.hints}}) {
    if (key != name) continue;
    static const std::regex number(R"(\d{1,9})");
    if (!std::regex_match(value, number)) return false;
    *count = std::stoi(value);
    return true;
  }
  for (const auto& [name, time] : {std::pair{"checked", &progress.checked}, std::pair{"passed", &progress.passed},
                                   std::pair{"solution", &progress.solution}}) {
    if (key != name) continue;
    *time = time_of(value);
    return time->has_value();
  }
  return false;
}

std::string line_of(const std::string& exercise, const Progress& progress) {
  std::string line = exercise;
  if (progress.checks > 0) line += fmt::format("  checks={}", progress.checks);
  if (progress.checked) line += "  checked=" + text_of(*progress.checked);
  if (progress.passed) line += "  passed=" + text_of(*progress.passed);
  if (progress.hints > 0) line += fmt::format("  hints={}", progress.hints);
  if (progress.solution) line += "  solution=" + text_of(*progress.solution);
  return line;
}

/// The exercise that a line is about; empty for a comment.
std::string exercise_of(const std::string& line) {
  std::istringstream words(line);
  std::string exercise;
  words >> exercise;
  return exercise.starts_with('#') ? "" : exercise;
}

}  // namespace

Time now() { return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()); }

void Progress::checked_now(bool passes, Time time) {
  ++checks;
  checked = time;
  if (passes && !passed) passed = time;
}

std::map<std::string, Progress> read_progress(const fs::path& root) {
  std::map<std::string, Progress> all;
  const fs::path file = root / file_name;
  if (!fs::exists(file)) return all;
  static const std::regex exercise(R"(\d\d\.\d+)");
  int number = 0;
  for (const std::string& line : lines_of(read_text(file))) {
    ++number;
    const std::string id = exercise_of(line);
    if (id.empty()) continue;
    std::istringstream words(line);
    std::string field;
    words >> field;  // the exercise
    Progress progress;
    bool understood = std::regex_match(id, exercise);
    while (understood && words >> field) {
      const std::size_t equals = field.find('=');
      understood = equals != std::string::npos && take(progress, field.substr(0, equals), field.substr(equals + 1));
    }
    if (!understood) {
      throw UsageError(
          fmt::format("{}:{}: this line cannot be understood, so your progress is neither read nor changed: "
                      "{}\nMend the line or delete it.",
                      file_name, number, line));
    }
    all[id] = progress;
  }
  return all;
}

void change_progress(const fs::path& root, const std::string& exercise, const std::function<void(Progress&)>& change) {
  const FolderLock lock(root);
  Progress progress = read_progress(root)[exercise];
  change(progress);
  // The other lines stay as they are; some may be the reader's own.
  const fs::path file = root / file_name;
  std::vector<std::string> lines = fs::exists(file) ? lines_of(read_text(file)) : std::vector<std::string>{head};
  const auto is_its = [&](const std::string& line) { return exercise_of(line) == exercise; };
  auto at =
      std::find_if(lines.begin(), lines.end(), [&](const std::string& line) { return exercise_of(line) >= exercise; });
  if (at == lines.end() || !is_its(*at)) at = lines.insert(at, "");
  *at = line_of(exercise, progress);
  lines.erase(std::remove_if(at + 1, lines.end(), is_its), lines.end());
  try {
    write_text(file, fmt::format("{}\n", fmt::join(lines, "\n")));
  } catch (const std::runtime_error& error) {
    throw MachineError(fmt::format("Your progress could not be kept. {}", error.what()));
  }
}

std::string since(Time then, Time now) {
  const std::int64_t seconds = (now - then).count();
  if (seconds < 60) return "just now";
  if (seconds < 3600) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 86400) return fmt::format("{} h ago", seconds / 3600);
  return fmt::format("{} d ago", seconds / 86400);
}

}  // namespace learn
