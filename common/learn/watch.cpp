#include <fmt/format.h>
#include <learn/check.h>
#include <learn/commands.h>
#include <learn/course.h>

#include <unistd.h>

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>
#include <tuple>

namespace learn {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

/// What changes when a file is saved, in place or by renaming another over it.
struct Stamp {
  ino_t file;
  off_t bytes;
  Nanoseconds saved;  // since 1970
  bool operator==(const Stamp&) const = default;
};

std::optional<Stamp> stamp_of(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return Stamp{status.st_ino, status.st_size,
               std::chrono::seconds(status.st_mtim.tv_sec) + Nanoseconds(status.st_mtim.tv_nsec)};
}

double seconds_since(Nanoseconds saved) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::chrono::duration<double>(std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec) - saved).count();
}

std::atomic<bool> interrupted = false;

}  // namespace

ExitCode watch(const Place& place, const CheckOptions& options) {
  const Exercise exercise = find_exercise(chapters(place.root), options.exercise);
  if (exercise.reading) throw UsageError(reading_note(exercise));
  const bool on_terminal = isatty(STDOUT_FILENO) == 1 && !options.json;
  // Ctrl-C reaches the compiler or the test as well, which end; then this does.
  std::signal(SIGINT, [](int) { interrupted = true; });

  // Polling: it works on every file system, on those that containers and WSL2 share with another machine, too.
  std::optional<Stamp> checked;
  for (bool first = true, missing = false; !interrupted; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
    const std::optional<Stamp> current = stamp_of(place.root / exercise.file);
    if (!current && !missing) {
      fmt::print(stderr, "The file {} is not there; as soon as it is, it is checked.\n", exercise.file.string());
    }
    missing = !current;
    if (!current || current == checked) continue;
    checked = current;
    if (on_terminal) fmt::print("\033[2J\033[H");
    const Verdict verdict = judge(place, exercise, options);
    if (interrupted) break;  // in the middle, so the verdict says nothing about the code
    tell(verdict, place, options);
    if (options.json) continue;
    if (first) {
      fmt::print("\nWatching {}: every save is checked. Ctrl-C ends it.\n", exercise.file.string());
    } else {
      fmt::print("\nVerdict {:.1f} s after the save; the test itself took {:.1f} s. Watching on; Ctrl-C ends it.\n",
                 seconds_since(current->saved), verdict.test_seconds);
    }
    std::fflush(stdout);
    first = false;
  }
  if (!options.json) fmt::print("\nStopped watching {}.\n", exercise.file.string());
  return success;
}

}  // namespace learn
