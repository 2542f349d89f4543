#include <simt/watch.h>

#include <simt/block.h>
#include <simt/symbols.h>

#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace simt {
namespace {

using namespace std::chrono_literals;

// ---- What a thread is doing

/// Taken in the thread itself, mostly in a signal handler: so nothing here allocates, locks or belongs to the standard
/// library, whose inline functions the linker may have taken from hooked code.
struct Sample {
  static constexpr unsigned most_calls = 64;
  unsigned calls;
  std::uintptr_t instruction[most_calls];  // innermost first; of the outer ones, the call
  const Block* block;                      // null in host code
  std::uint64_t block_number;
  Index block_index, thread;

  void take() {
    calls = 0;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* self) {
          Sample& sample = *static_cast<Sample*>(self);
          int exact = 0;
          const std::uintptr_t address = _Unwind_GetIPInfo(context, &exact);
          if (sample.calls == most_calls) return _URC_END_OF_STACK;
          sample.instruction[sample.calls++] = exact != 0 ? address : address - 1;
          return _URC_NO_REASON;
        },
        this);
    block = Block::of_worker();
    if (block == nullptr) return;
    const uint3 index = block->lane().index;
    block_number = block->info().number;
    block_index = block->info().index;
    thread = {index.x, index.y, index.z};
  }
};

// ---- Reports

/// Says it on a line of its own, behind all that the program has printed so far, and ends the program.
[[noreturn]] void end_program(const std::string& words, int exit_code) {
  const std::string text = "\n" + words;  // what the program printed last may lack its line end
  // The thread that crashed may have been in the middle of a printf: then what it printed is lost.
  constexpr int attempts = 100;
  for (int i = 0; i < attempts && ftrylockfile(stdout) != 0; ++i) {
    if (i + 1 < attempts) {
      std::this_thread::sleep_for(10ms);
      continue;
    }
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    std::_Exit(exit_code);
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  std::_Exit(exit_code);
}

/// Only the first thread that has a report to make comes back from here; the others wait for the end.
void claim_report() {
  static std::atomic<bool> claimed = false;
  if (!claimed.exchange(true)) return;
  while (true) pause();
}

using Calls = std::vector<Call>;  // innermost first

/// The calls in the course's own files of each sample. Where some are outside of common/, those alone: they are in the
/// file that the reader has written.
std::vector<Calls> calls_of(const std::vector<Sample>& samples) {
  const Range image = program_image();
  std::set<std::uintptr_t> distinct;
  for (const Sample& sample : samples)
    for (unsigned i = 0; i < sample.calls; ++i)
      if (image.contains(sample.instruction[i])) distinct.insert(sample.instruction[i]);
  const std::vector<std::uintptr_t> addresses(distinct.begin(), distinct.end());
  const std::vector<Calls> found = calls_at(addresses);

  std::vector<Calls> calls;
  for (const Sample& sample : samples) {
    Calls of_sample;
    for (unsigned i = 0; i < sample.calls; ++i) {
      const auto at = std::lower_bound(addresses.begin(), addresses.end(), sample.instruction[i]);
      if (at == addresses.end() || *at != sample.instruction[i]) continue;
      const Calls& here = found[static_cast<std::size_t>(at - addresses.begin())];
      of_sample.insert(of_sample.end(), here.begin(), here.end());
    }
    const auto in_common = [](const Call& call) {
      return call.where.file.starts_with("common/") && call.where.file.find("/tests/") == std::string::npos;
    };
    if (!std::all_of(of_sample.begin(), of_sample.end(), in_common)) std::erase_if(of_sample, in_common);
    calls.push_back(std::move(of_sample));
  }
  return calls;
}

Finding finding_of(const char* check, std::string title, const Launch& launch, const Sample& sample,
                   std::string detail) {
  const Calls calls = calls_of({sample}).front();
  // Without a frame to go by, as after a jump to a wild address, the kernel's own first line.
  const Where where =
      calls.empty() ? where_is(reinterpret_cast<std::uintptr_t>(launch.call.function) + 1) : calls.front().where;
  return {check,      std::move(title),   launch.kernel(), where.file,
          where.line, sample.block_index, sample.thread,   std::move(detail)};
}

// ---- Crashes

struct Crash {
  int signal;
  bool of_stack;
  Sample sample;
};

struct CrashSignal {
  int number;
  const char* name;
  const char* question;
};
constexpr CrashSignal crash_signals[] = {
    {SIGSEGV, "SIGSEGV", "invalid memory reference: a wild pointer?"},
    {SIGBUS, "SIGBUS", "invalid memory reference: a wild pointer?"},
    {SIGFPE, "SIGFPE", "integer division by zero?"},
    {SIGILL, "SIGILL", "illegal instruction: a function that returns no value?"},
    {SIGABRT, "SIGABRT", "abort, or an exception that nobody catches?"},
};
constexpr std::size_t crash_signal_count = std::size(crash_signals);

struct sigaction handlers_before[crash_signal_count];
const Launch* watched_launch = nullptr;
sem_t ended;  // posted when the workers are done, or one of them crashed
Crash crash;
volatile std::sig_atomic_t crashed = 0;

void on_crash(int signal, siginfo_t* info, void*) {
  const Block* block = Block::of_worker();
  if (block == nullptr) {  // host code: as if this handler were not there
    for (std::size_t i = 0; i < crash_signal_count; ++i)
      if (crash_signals[i].number == signal) sigaction(signal, &handlers_before[i], nullptr);
    raise(signal);  // delivered when this handler returns
    return;
  }
  static volatile int crashes = 0;
  if (__atomic_fetch_add(&crashes, 1, __ATOMIC_SEQ_CST) == 0) {
    const bool has_address = signal == SIGSEGV || signal == SIGBUS;
    crash.signal = signal;
    crash.of_stack = has_address && block->beyond_stack(reinterpret_cast<std::uintptr_t>(info->si_addr));
    crash.sample.take();
    crashed = 1;
    sem_post(&ended);
  }
  while (true) pause();  // this thread may hold any lock: the thread that waits for the launch makes the report
}

[[noreturn]] void report_crash(const Launch& launch) {
  claim_report();
  if (crash.of_stack) {
    const Finding finding =
        finding_of("stack", "a thread of the kernel used up its stack of " + std::to_string(stack_bytes >> 10) + " KB",
                   launch, crash.sample, "Is there a recursion without end, or a large local array?");
    end_program(finding.text(), exit_ended);
  }
  const CrashSignal* signal = std::find_if(std::begin(crash_signals), std::end(crash_signals),
                                           [](const CrashSignal& known) { return known.number == crash.signal; });
  const std::string title = std::string("the kernel was ended by ") + signal->name + " (" + signal->question + ")";
  end_program(finding_of("crash", title, launch, crash.sample, "").text(), exit_ended);
}

void on_exit_of_program() {
  const Block* block = Block::of_worker();
  if (block == nullptr) return;
  running_block = nullptr;  // from here on this thread is in the executor
  claim_report();
  Sample sample;
  sample.take();
  end_program(finding_of("exit", "the kernel calls exit() and so ends the whole program", block->launch(), sample,
                         "A thread of a kernel ends with return.")
                  .text(),
              exit_ended);
}

}  // namespace

LaunchWatch::LaunchWatch(const Launch& launch) {
  [[maybe_unused]] static const bool registered = [] {
    sem_init(&ended, 0, 0);
    return std::atexit(on_exit_of_program) == 0 && std::at_quick_exit(on_exit_of_program) == 0;
  }();
  watched_launch = &launch;
  struct sigaction action = {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (std::size_t i = 0; i < crash_signal_count; ++i) sigaction(crash_signals[i].number, &action, &handlers_before[i]);
}

LaunchWatch::~LaunchWatch() {
  for (std::size_t i = 0; i < crash_signal_count; ++i) sigaction(crash_signals[i].number, &handlers_before[i], nullptr);
  watched_launch = nullptr;
}

void LaunchWatch::done() { sem_post(&ended); }

void LaunchWatch::wait() {
  while (sem_wait(&ended) != 0) {
  }
  if (crashed != 0) report_crash(*watched_launch);
}

SignalStack::SignalStack() {
  constexpr std::size_t bytes = 64 << 10;
  memory_ = std::make_unique<std::byte[]>(bytes);
  const stack_t stack{memory_.get(), 0, bytes};
  sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

// ---- The time limit

namespace {

Sample asked_for;
sem_t sampled;

void on_sample(int, siginfo_t*, void*) {
  const int error = errno;
  asked_for.take();
  sem_post(&sampled);
  errno = error;
}

Sample sample_of(pthread_t thread) {
  pthread_kill(thread, SIGPROF);
  while (sem_wait(&sampled) != 0) {
  }
  return asked_for;
}

/// Where a thread that was watched goes round.
struct Loop {
  Call place;  // where it was seen most often
  int first_line = 0, last_line = 0;

  bool found() const { return first_line != 0; }
  std::string text() const {
    if (!found()) return "";
    const std::string lines = first_line == last_line
                                  ? "line " + std::to_string(first_line)
                                  : "lines " + std::to_string(first_line) + "–" + std::to_string(last_line);
    return "While it was watched it ran " + lines + " again and again: is there a condition that stays true?";
  }
};

/// The outermost function that was seen at several lines goes round; what it calls changes with it. If there is none,
/// the loop is in the innermost one.
Loop loop_of(const std::vector<Sample>& samples) {
  Loop loop;
  const std::vector<Calls> calls = calls_of(samples);
  for (std::size_t depth = 0;; ++depth) {                                    // from outside
    std::map<std::pair<std::string, std::string>, std::map<int, int>> seen;  // file, function: line: times
    for (const Calls& of_sample : calls) {
      if (of_sample.size() <= depth) continue;
      const Call& call = of_sample[of_sample.size() - 1 - depth];
      ++seen[{call.where.file, call.function}][call.where.line];
    }
    if (seen.empty()) return loop;
    const auto times = [](const std::map<int, int>& lines) {
      int sum = 0;
      for (const auto& [line, count] : lines) sum += count;
      return sum;
    };
    const auto& [function, lines] = *std::max_element(
        seen.begin(), seen.end(), [&](const auto& a, const auto& b) { return times(a.second) < times(b.second); });
    const auto most =
        std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    loop = {{function.second, {function.first, most->first}}, lines.begin()->first, lines.rbegin()->first};
    if (lines.size() > 1) return loop;
  }
}

[[noreturn]] void report_time(double limit_seconds, pthread_t main_thread) {
  sem_init(&sampled, 0, 0);
  struct sigaction action = {};
  action.sa_sigaction = on_sample;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);

  // A launch that is there all the time does not end; where one follows the other, what starts them does not.
  constexpr int rounds = 200;
  const LaunchesSoFar before = launches_so_far();
  std::vector<Sample> of_kernel, of_host;
  for (int i = 0; i < rounds; ++i) {
    for_each_worker([&](pthread_t worker) {
      const Sample sample = sample_of(worker);
      if (sample.block != nullptr) of_kernel.push_back(sample);
    });
    of_host.push_back(sample_of(main_thread));
    std::this_thread::sleep_for(5ms);
  }
  const LaunchesSoFar after = launches_so_far();
  claim_report();
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g s", limit_seconds);
  const std::string still = std::string("It was still running after ") + seconds + ". ";

  if (before.running && after.running && after.started == before.started && !of_kernel.empty()) {
    // Blocks that run at the same time may go round at different places: the first one is told.
    const auto number = [](const Sample& sample) {
      const auto [x, y, z] = sample.thread;
      return std::tuple(sample.block_number, z, y, x);
    };
    const Sample first = *std::min_element(of_kernel.begin(), of_kernel.end(),
                                           [&](const Sample& a, const Sample& b) { return number(a) < number(b); });
    std::erase_if(of_kernel, [&](const Sample& sample) { return sample.block_number != first.block_number; });
    const Loop loop = loop_of(of_kernel);
    Finding finding = finding_of("time", "the kernel does not end", first.block->launch(), first, still + loop.text());
    if (loop.found()) {
      finding.file = loop.place.where.file;
      finding.line = loop.place.where.line;
    }
    end_program(finding.text(), exit_time);
  }
  const Loop loop = loop_of(of_host);
  const std::string kernels = after.started == before.started ? "no kernel is running" : "each of its kernels does";
  std::string text = "time: the program does not end, and " + kernels + ": look for a loop in the launcher\n";
  if (loop.found()) {
    const auto& [function, where] = loop.place;
    text += "  at " + where.file + ":" + std::to_string(where.line) + " in " + function + "\n";
  }
  end_program(text + "  " + still + loop.text() + "\n", exit_time);
}

/// Runs beside the program from its start.
const bool time_limit_is_watched = [] {
  const char* text = std::getenv("SIMT_TIME_LIMIT");
  if (text == nullptr) return false;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(seconds > 0 && seconds < 1e9)) {
    std::fprintf(stderr, "SIMT_TIME_LIMIT is '%s'; it must be a number of seconds, such as 20.\n", text);
    std::_Exit(2);
  }
  std::thread([seconds, main_thread = pthread_self()] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    report_time(seconds, main_thread);
  }).detach();
  return true;
}();

}  // namespace
}  // namespace simt
