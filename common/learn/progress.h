/// How far the reader is: progress.txt in the course's folder, a line for each exercise that was touched.
///
///   01.1  checks=4  checked=2026-11-30T12:03:11Z  passed=2026-11-30T12:03:11Z  hints=1
///
/// The file is the reader's: it can be read, edited and deleted, and git ignores it. A line that cannot be understood
/// is named, and then nothing is written.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace learn {

using Time = std::chrono::sys_seconds;
Time now();

struct Progress {
  int checks = 0;                // how often the reader's file was judged
  int hints = 0;                 // how many levels were shown
  std::optional<Time> checked;   // the last time
  std::optional<Time> passed;    // the first time since the last reset
  std::optional<Time> solution;  // when the solution was shown first

  void checked_now(bool passes, Time time);
};

/// By the exercise's number, "01.1". Empty where there is no file. Throws UsageError where a line cannot be understood,
/// std::runtime_error where the file cannot be read.
std::map<std::string, Progress> read_progress(const std::filesystem::path& root);

/// Reads the file, changes the line of one exercise and writes the file, while no other ./learn does. Throws as
/// read_progress(), and MachineError where the file cannot be written; then it is as it was.
void change_progress(const std::filesystem::path& root, const std::string& exercise,
                     const std::function<void(Progress&)>& change);

/// "just now", "5 min ago", "1 h ago", "12 d ago"
std::string since(Time then, Time now);

}  // namespace learn
