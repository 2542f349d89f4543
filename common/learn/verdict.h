/// The verdict on the code of an exercise, and how it is told: as sentences for a reader, as JSON for an editor.
#pragma once

#include <learn/course.h>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace learn {

/// An error or a warning of a compiler.
struct Diagnostic {
  std::string file;
  int line = 0, column = 0;
  std::string severity;  // "error", "warning"
  std::string message;
};

/// A finding of the executor, or of compute-sanitizer on a GPU.
struct Fault {
  std::string check;  // "race", "memory", …
  std::string title;  // "read outside of buffer 'x'"
  std::string file;   // empty where nobody knows
  int line = 0;
  std::vector<std::string> text;  // all of it, as the executor says it
};

/// A mistake that the wrong values look like, as a test names it.
struct LikelyMistake {
  std::string name;      // "variance_over_n_minus_1"
  std::string sentence;  // "the variance is divided by N − 1, not by N"
  std::string section;   // what to read
};

/// A text's lines: what is wrong, and apart from it the findings and the likely mistakes.
struct SplitText {
  std::vector<std::string> rest;  // neither begins nor ends with an empty line
  std::vector<Fault> faults;
  std::vector<LikelyMistake> mistakes;
  bool no_known_mistake = false;  // the values were compared with the known mistakes, and none fits
};

/// A check of a test that failed.
struct Failure {
  std::string test;  // its title, without the subject
  std::string file;
  int line = 0;
  SplitText message;
};

enum class Outcome {
  passed,
  not_written,     // a stub's own words are among the failures
  failed,          // wrong values, or a finding
  endless,         // stopped at the time limit
  crashed,         // ended by a signal, or by an exhausted stack
  ended_early,     // ended by exit() before the tests were over
  not_compiled,    // nor linked
  not_legal,       // g++ takes it, but it is not CUDA
  could_not_build  // through no fault of the code
};
const char* name(Outcome outcome);  // "passed", "not_written", …

struct Verdict {
  std::string exercise, title, file;  // of the code that is judged
  std::string subject;                // whose it is: "YOUR CODE", or "STUB" for an untouched one
  std::string stub;                   // where the text of an untouched one lies; else empty
  Outcome outcome = Outcome::passed;
  std::string sentence;  // the verdict in words
  int tests = 0, failed = 0;
  std::vector<std::string> printed;       // by the code itself
  std::vector<Failure> failures;          // in the order in which they came
  std::vector<Fault> faults;              // of what ended the program, and of compute-sanitizer
  std::vector<Diagnostic> diagnostics;    // where it was not compiled or not legal
  std::vector<std::string> build_output;  // in the same cases: all that the compiler said
  std::vector<std::string> first_error;   // the part of it that a reader needs
  std::vector<std::string> notes;         // what was not checked, and why
  std::string next;                       // the command to go on with, and what for
  double build_seconds = 0, test_seconds = 0;

  bool passed() const { return outcome == Outcome::passed; }
};

/// Takes what a program with --reporters=report wrote, and what it printed, into the verdict: failures, faults,
/// mistakes, counts. exit_code is the program's. An outcome other than failed or passed says why it did not end.
void read_report(Verdict& verdict, const std::string& report, const std::string& printed, int exit_code);

SplitText split(const std::vector<std::string>& lines);

/// The diagnostics in a compiler's output.
std::vector<Diagnostic> diagnostics_in(const std::vector<std::string>& lines);

/// Of a failed build, what a reader needs: the compiler's first error in this file, else the linker's first name that
/// nothing defines, else the first error at all, with the lines that belong to it; everything if there is none of them.
std::vector<std::string> first_error(const std::vector<std::string>& lines, const std::string& file);

/// Whose code is judged, for a person: the exercise, the subject and the file.
std::string heading(const Exercise& exercise, const std::string& subject);

/// For behind it: the verdict, what failed in the first test that did (verbose: in every one), with the likely mistake
/// and the findings of each failure and the lines of code that they name, and what to do next. root is where the course
/// lies.
std::string text(const Verdict& verdict, const std::string& root, bool verbose);

nlohmann::ordered_json json(const Verdict& verdict, const std::string& root);
/// The same on one line. A byte that is no UTF-8, as a kernel may print it or a comment may hold it, becomes U+FFFD.
std::string json_line(const Verdict& verdict, const std::string& root);

}  // namespace learn
