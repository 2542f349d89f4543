// A program that does not come to its own end says so, with the place, and does not look like a success.
#include "gate.h"

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace {

constexpr int exit_ended = 70, exit_time = 124;  // simt/watch.h

struct Ended {
  int exit_code;
  std::string output;

  bool says(const std::string& words) const { return output.find(words) != std::string::npos; }
};

Ended run(const std::string& test_case, const std::string& environment = "") {
  const std::string command = "env " + environment + " " ENDINGS " --no-colors --test-case='" + test_case + "' 2>&1";
  Ended ended{-1, ""};
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  constexpr std::size_t kept = 1 << 20;  // the end of what was printed
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) != 0;) {
    ended.output.append(buffer, count);
    if (ended.output.size() > 2 * kept) ended.output.erase(0, kept);
  }
  const int status = pclose(pipe);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

int line(const std::string& mark) { return gate::line_of("common/simt/tests/endings.cu", mark); }

// The line that the output names, and the range of lines that it says were run.
struct Lines {
  int place = 0, first = 0, last = 0;
};
Lines lines_of(const std::string& output) {
  Lines lines;
  if (const auto at = output.find("endings.cu:"); at != std::string::npos)
    std::sscanf(output.c_str() + at, "endings.cu:%d", &lines.place);
  if (const auto at = output.find("it ran line"); at != std::string::npos) {
    if (std::sscanf(output.c_str() + at, "it ran lines %d–%d", &lines.first, &lines.last) != 2) {
      std::sscanf(output.c_str() + at, "it ran line %d", &lines.first);
      lines.last = lines.first;
    }
  }
  return lines;
}

void check_time(const std::string& test_case, const std::string& title, const std::string& function,
                const std::string& thread, int first, int last) {
  const Ended ended = run(test_case, "SIMT_TIME_LIMIT=1");
  INFO(test_case << ": "
                 << ended.output.substr(ended.output.size() - std::min<std::size_t>(ended.output.size(), 1000)));
  CHECK(ended.exit_code == exit_time);
  CHECK(ended.says("time: " + title + "\n"));
  CHECK(ended.says(function + "\n"));
  CHECK(ended.says(thread));
  CHECK(ended.says("It was still running after 1 s."));
  const Lines lines = lines_of(ended.output);
  CHECK(lines.first <= lines.place);
  CHECK(lines.place <= lines.last);
  CHECK(first <= lines.first);
  CHECK(lines.last <= last);
}

void check_end(const std::string& test_case, const std::string& words, const std::string& thread, int first, int last) {
  const Ended ended = run(test_case);
  INFO(test_case << ": " << ended.output);
  CHECK(ended.exit_code == exit_ended);
  CHECK(ended.says(words));
  CHECK(ended.says(thread));
  const Lines lines = lines_of(ended.output);
  CHECK(first <= lines.place);
  CHECK(lines.place <= last);
}

const std::string no_end = "the kernel does not end";

}  // namespace

#ifndef __clang__
TEST_CASE("time: an empty loop") {
  check_time("empty loop", no_end, "(anonymous namespace)::empty_loop", "thread (0,0,0)", line("first of empty"),
             line("last of empty"));
}
#endif

TEST_CASE("time: a loop that waits for memory") {
  check_time("waits for memory", no_end, "(anonymous namespace)::waits_for_memory", "block (0,0,0), thread (",
             line("first of memory"), line("last of memory"));
}

TEST_CASE("time: a loop with a barrier in it") {
  check_time("loop with barrier", no_end, "(anonymous namespace)::loop_with_barrier", "block (0,0,0), thread (",
             line("first of barrier"), line("last of barrier"));
}

TEST_CASE("time: a loop of one lane") {
  check_time("one lane loops", no_end, "(anonymous namespace)::one_lane_loops", "thread (5,0,0)",
             line("first of one lane"), line("last of one lane"));
}

TEST_CASE("time: a loop that prints") {
  check_time("loop with printf", no_end, "(anonymous namespace)::loop_with_printf", "block (0,0,0), thread (",
             line("first of printf"), line("last of printf"));
}

TEST_CASE("what is said begins a line, whatever was printed before") {
  CHECK(run("loop with printf", "SIMT_TIME_LIMIT=1").says("\ntime: the kernel does not end\n"));
}

TEST_CASE("time: a loop that calls a device function is the kernel's, not the function's") {
  check_time("loop with call", no_end, "(anonymous namespace)::loop_with_call", "block (0,0,0)", line("first of call"),
             line("last of call"));
}

TEST_CASE("time: a loop in host code") {
  check_time("launcher loops", "the program does not end, and no kernel is running: look for a loop in the launcher",
             "launcher_loops", "", line("first of launcher"), line("last of launcher"));
}

TEST_CASE("time: a loop in host code that launches kernels which end") {
  check_time("launcher repeats",
             "the program does not end, and each of its kernels does: look for a loop in the launcher",
             "launcher_repeats", "", line("first of repeats"), line("last of repeats"));
}

TEST_CASE("time: a program that ends in time is left alone, and a limit that is no number is refused") {
  CHECK(run("its own end", "SIMT_TIME_LIMIT=60").exit_code == 0);
  const Ended refused = run("its own end", "SIMT_TIME_LIMIT=soon");
  CHECK(refused.exit_code == 2);
  CHECK(refused.says("SIMT_TIME_LIMIT is 'soon'; it must be a number of seconds, such as 20."));
}

TEST_CASE("stack: a recursion without end, and an array that is larger than the stack") {
  check_end("recursion", "stack: a thread of the kernel used up its stack of 256 KB\n",
            "in (anonymous namespace)::recursive\n  block (0,0,0), thread (", line("recursion") - 2, line("recursion"));
  check_end("large array", "stack: a thread of the kernel used up its stack of 256 KB\n",
            "in (anonymous namespace)::large_array\n  block (0,0,0), thread (0,0,0)", line("first of large array") - 1,
            line("last of large array"));
}

TEST_CASE("crash: a kernel that is ended by a signal") {
#ifdef __x86_64__  // elsewhere a division by zero gives a value
  check_end("division", "crash: the kernel was ended by SIGFPE (integer division by zero?)\n", "thread (0,0,0)",
            line("division"), line("division"));
#endif
  check_end("abort", "crash: the kernel was ended by SIGABRT", "thread (3,0,0)", line("abort"), line("abort"));
}

TEST_CASE("exit: a kernel that ends the program") {
  for (const char* name : {"exit", "quick_exit"})
    check_end(std::string(name) + " in the kernel", "exit: the kernel calls exit() and so ends the whole program\n",
              "thread (3,0,0)", line("exit"), line("quick exit"));
}

TEST_CASE("exit: host code that ends the program") {
  for (const char* name : {"exit in the launcher", "exit behind a launch"}) {
    const Ended ended = run(name);
    INFO(ended.output);
    CHECK(ended.exit_code == exit_ended);
    CHECK(ended.says("The program was ended by exit() before its tests were over: does the code call exit()?"));
  }
}

TEST_CASE("crash: host code that uses up its stack is doctest's business") {
  const Ended ended = run("recursion in the launcher");
  CHECK(ended.exit_code > 128);
  CHECK(ended.says("CRASHED: SIGSEGV"));
}
