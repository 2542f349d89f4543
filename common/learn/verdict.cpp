#include <learn/verdict.h>

#include <fmt/format.h>
#include <learn/files.h>
#include <learn/marks.h>
#include <learn/text.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <regex>

namespace learn {
namespace {

using Lines = std::vector<std::string>;

/// What the executor and its faults call themselves at the beginning of a finding.
/// A message may have led up to it: "YOUR CODE is wrong in the last rows: init: read of …".
const std::regex finding_title(R"(^(?:(.*): )?(sync|memory|init|race|time|stack|crash|exit): (.+)$)");
const std::regex finding_place(R"(^ *at ([^ ]+):(\d+) in .*$)");

bool is_error(const std::string& line) {
  return line.find(": error: ") != std::string::npos || line.find(": fatal error: ") != std::string::npos;
}

/// The linker's line about a function that is declared and called, and that nothing defines.
bool is_undefined(const std::string& line) { return line.find(": undefined reference to ") != std::string::npos; }

/// "YOUR CODE: right on every row" -> "right on every row"
std::string without_subject(const std::string& test) {
  const std::size_t colon = test.find(": ");
  return colon == std::string::npos ? test : test.substr(colon + 2);
}

/// Where the lines of code are that a verdict quotes.
struct Sources {
  std::filesystem::path root;
  std::string file, stub;  // as in Verdict
};

/// The line of a file without its indentation; empty if there is none.
std::string source_line(const Sources& sources, const std::string& file, int line) {
  const bool is_stub = file == sources.file && !sources.stub.empty();
  const std::filesystem::path path = is_stub ? std::filesystem::path(sources.stub) : sources.root / file;
  std::error_code ignored;
  if (line < 1 || !std::filesystem::is_regular_file(path, ignored)) return "";
  const Lines lines = lines_of(read_text(path));
  if (static_cast<std::size_t>(line) > lines.size()) return "";
  const std::string& text = lines[static_cast<std::size_t>(line) - 1];
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin);
}

/// As they are: what a compiler or a kernel printed is laid out already.
std::string indented(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += (line.empty() ? "" : "  ") + line + "\n";
  return text;
}

/// Sentences.
std::string paragraphs(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += (line.empty() ? "" : wrapped("  " + line, 2)) + "\n";
  return text;
}

/// A finding's lines, with the code below each line that names a place.
std::string quoted(const Fault& fault, const Sources& sources) {
  static const std::regex place(R"(\bat ([^ ]+):(\d+))");
  std::string text;
  for (const std::string& line : fault.text) {
    text += wrapped("  " + line, 2) + "\n";
    for (std::sregex_iterator found(line.begin(), line.end(), place), end; found != end; ++found) {
      const std::string code = source_line(sources, (*found)[1], std::stoi((*found)[2]));
      if (!code.empty()) text += fmt::format("  {:>6} | {}\n", (*found)[2].str(), code);
    }
  }
  return text;
}

std::string findings(const std::vector<Fault>& faults, const Sources& sources) {
  std::string text = faults.empty() ? "" : "\nFindings:\n";
  for (const Fault& fault : faults) text += quoted(fault, sources);
  return text;
}

/// What the wrong values look like.
std::string likely(const SplitText& message) {
  const std::vector<LikelyMistake>& mistakes = message.mistakes;
  if (mistakes.empty()) return message.no_known_mistake ? "\nNo known mistake fits these values.\n" : "";
  std::string text = mistakes.size() > 1 ? "\nTwo known mistakes give these values:\n" : "\n";
  for (const LikelyMistake& mistake : mistakes) {
    text += wrapped(fmt::format("{}{}.", mistakes.size() > 1 ? "  " : "Likely mistake: ", mistake.sentence), 2) + "\n" +
            wrapped(fmt::format("  Read {}.", mistake.section), 2) + "\n";
  }
  return text;
}

/// printf is how many people look into a kernel.
std::string what_it_printed(const std::string& subject, const Lines& printed) {
  constexpr std::size_t shown = 40;
  if (printed.empty()) return "";
  const auto end = printed.begin() + static_cast<std::ptrdiff_t>(std::min(printed.size(), shown));
  return subject + " printed:\n" + indented({printed.begin(), end}) +
         (printed.size() > shown ? fmt::format("  … and {} more lines\n", printed.size() - shown) : "") + "\n";
}

}  // namespace

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed: return "passed";
    case Outcome::not_written: return "not_written";
    case Outcome::failed: return "failed";
    case Outcome::endless: return "endless";
    case Outcome::crashed: return "crashed";
    case Outcome::ended_early: return "ended_early";
    case Outcome::not_compiled: return "not_compiled";
    case Outcome::not_legal: return "not_legal";
    case Outcome::could_not_build: return "could_not_build";
  }
  return "";
}

SplitText split(const Lines& lines) {
  static const std::regex mistake(R"(^ *likely mistake: (.*) \((\w+)\); read (.*)$)");
  static const std::regex more(R"(^and \d+ more findings?$)");
  SplitText result;
  bool in_finding = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch found;
    const bool has_place = i + 1 < lines.size() && std::regex_match(lines[i + 1], finding_place);
    if (has_place && std::regex_match(lines[i], found, finding_title)) {
      if (found[1].matched) result.rest.push_back(found[1]);
      const std::string check = found[2], title = found[3];
      result.faults.push_back({check, title, "", 0, {check + ": " + title}});
      in_finding = true;
    } else if (in_finding && lines[i].starts_with("  ")) {
      Fault& fault = result.faults.back();
      fault.text.push_back(lines[i]);
      if (fault.file.empty() && std::regex_match(lines[i], found, finding_place)) {
        fault.file = found[1];
        fault.line = std::stoi(found[2]);
      }
    } else if (std::regex_match(lines[i], found, mistake)) {
      result.mistakes.push_back({found[2], found[1], found[3]});
    } else if (lines[i].find("no known mistake fits") != std::string::npos) {
      result.no_known_mistake = true;
    } else if (!result.faults.empty() && std::regex_match(lines[i], more)) {
      result.faults.back().text.push_back(lines[i]);
    } else {
      in_finding = false;
      result.rest.push_back(lines[i]);
    }
  }
  Lines& rest = result.rest;
  while (!rest.empty() && rest.back().empty()) rest.pop_back();
  rest.erase(rest.begin(), std::find_if(rest.begin(), rest.end(), [](const auto& line) { return !line.empty(); }));
  return result;
}

void read_report(Verdict& verdict, const std::string& report, const std::string& printed, int exit_code) {
  bool reached_the_end = false, not_written = false;
  for (const std::string& line : lines_of(report)) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    if (entry.is_discarded()) continue;  // cut off in the middle: the program was ended there
    if (entry.contains("tests")) {
      reached_the_end = true;
      verdict.tests = entry.at("tests");
      verdict.failed = entry.at("failed");
      continue;
    }
    const std::string message = entry.at("message");
    not_written = not_written || (verdict.failures.empty() && message.find("not written yet") != std::string::npos);
    verdict.failures.push_back(
        {without_subject(entry.at("test")), entry.at("file"), entry.at("line"), split(lines_of(message))});
  }
  // What ends a program at once is told on its output.
  Lines lines = lines_of(printed);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("The program was ended by exit()"); });
  const SplitText said = split(lines);
  // A line may have no end, where the code prints in a loop.
  constexpr std::size_t columns = 5 * terminal_columns;
  for (const std::string& line : said.rest) verdict.printed.push_back(shortened(line, columns));
  verdict.faults = said.faults;

  const auto count = fmt::format("{} of {} tests failed", verdict.failed, verdict.tests);
  if (exit_code == 124 || exit_code == 137) {  // of ./learn's time limit, and of timeout's
    verdict.outcome = Outcome::endless;
    verdict.sentence = verdict.subject + " does not end: its test was stopped at the time limit.";
  } else if (!said.faults.empty() && said.faults.front().check == "exit") {
    verdict.outcome = Outcome::ended_early;
    verdict.sentence = verdict.subject + " ended its test before the tests were over, so it does not pass.";
  } else if (!said.faults.empty() || exit_code > 128) {
    verdict.outcome = Outcome::crashed;
    verdict.sentence = fmt::format("{} crashed its test: {}.", verdict.subject,
                                   exit_code > 128 ? std::string(strsignal(exit_code - 128)) : said.faults[0].title);
  } else if (!reached_the_end) {
    verdict.outcome = Outcome::ended_early;
    verdict.sentence = fmt::format("{} ended its test with exit code {} before the tests were over, so it does "
                                   "not pass: does it call exit()?",
                                   verdict.subject, exit_code);
  } else if (exit_code == 0 && verdict.failed == 0 && verdict.tests > 0) {
    verdict.outcome = Outcome::passed;
  } else if (not_written) {
    verdict.outcome = Outcome::not_written;
    verdict.sentence = fmt::format("{} is not written yet: {}.", verdict.subject, count);
  } else {
    verdict.outcome = Outcome::failed;
    verdict.sentence = fmt::format("{} does not pass yet: {}.", verdict.subject, count);
  }
}

std::vector<Diagnostic> diagnostics_in(const Lines& lines) {
  static const std::regex diagnostic(R"(^([^ :]+):(\d+):(\d+): (?:fatal )?(error|warning): (.*)$)");
  static const std::regex undefined(R"(^(?:.*: )?([^ :]+):(\d+): (undefined reference to .*)$)");
  std::vector<Diagnostic> result;
  for (const std::string& line : lines) {
    std::smatch found;
    if (std::regex_match(line, found, diagnostic)) {
      result.push_back({found[1], std::stoi(found[2]), std::stoi(found[3]), found[4], found[5]});
    } else if (std::regex_match(line, found, undefined)) {
      result.push_back({found[1], std::stoi(found[2]), 0, "error", found[3]});
    }
  }
  return result;
}

Lines first_error(const Lines& lines, const std::string& file) {
  static const std::regex diagnostic(R"(^[^ ]+:\d+:\d+: (fatal )?(error|warning).*)");
  static const std::regex where(R"(^[^ ]+: (In .*|At global scope):$)");  // above the diagnostics of a function
  auto start = std::find_if(lines.begin(), lines.end(),
                            [&](const std::string& line) { return line.starts_with(file) && is_error(line); });
  if (start == lines.end()) {
    start = std::find_if(lines.begin(), lines.end(), is_undefined);
    if (start != lines.end()) return {*start};
  }
  if (start == lines.end()) start = std::find_if(lines.begin(), lines.end(), is_error);
  if (start == lines.end()) return {lines.begin(), lines.end()};
  const auto is_end = [](const std::string& line) {
    return std::regex_match(line, diagnostic) || std::regex_match(line, where) || line.starts_with("ninja:");
  };
  auto end = std::find_if(start + 1, lines.end(), is_end);
  return {start, std::min(end, start + 6)};
}

std::string heading(const Exercise& exercise, const std::string& subject) {
  return fmt::format("Exercise {}: {}\n{}: {}\n\n", exercise.id, exercise.title, subject, exercise.file.string());
}

std::string text(const Verdict& verdict, const std::string& root, bool verbose) {
  const Sources sources{root, verdict.file, verdict.stub};
  std::string text = what_it_printed(verdict.subject, verdict.printed) + wrapped(verdict.sentence) + "\n";

  const Lines& build = verbose ? verdict.build_output : verdict.first_error;
  if (!build.empty()) text += "\n" + indented(build);

  for (const Failure& failure : verdict.failures) {
    if (!verbose && failure.test != verdict.failures.front().test) break;
    text += "\n" + wrapped("Failed: " + failure.test, 2) + fmt::format("\n  at {}:{}\n", failure.file, failure.line);
    text += paragraphs(failure.message.rest) + likely(failure.message) + findings(failure.message.faults, sources);
  }
  text += findings(verdict.faults, sources) + "\n";
  for (const std::string& note : verdict.notes) text += wrapped(note) + "\n";
  return text + wrapped("Next: " + verdict.next, 2) + "\n";
}

nlohmann::ordered_json json(const Verdict& verdict, const std::string& root) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array(), mistakes = failures, faults = failures,
                         diagnostics = failures;
  for (const Failure& failure : verdict.failures) {
    failures.push_back({{"test", failure.test},
                        {"file", failure.file},
                        {"line", failure.line},
                        {"message", fmt::format("{}", fmt::join(failure.message.rest, "\n"))}});
  }
  // Of the first failure, as a person is told them.
  const SplitText first = verdict.failures.empty() ? SplitText{} : verdict.failures.front().message;
  for (const LikelyMistake& mistake : first.mistakes) {
    mistakes.push_back({{"name", mistake.name}, {"sentence", mistake.sentence}, {"read", mistake.section}});
  }
  std::vector<Fault> all_faults = first.faults;
  all_faults.insert(all_faults.end(), verdict.faults.begin(), verdict.faults.end());
  for (const Fault& fault : all_faults) {
    faults.push_back({{"check", fault.check},
                      {"title", fault.title},
                      {"file", fault.file},
                      {"line", fault.line},
                      {"source", source_line({root, verdict.file, verdict.stub}, fault.file, fault.line)},
                      {"text", fmt::format("{}", fmt::join(fault.text, "\n"))}});
  }
  for (const Diagnostic& diagnostic : verdict.diagnostics) {
    diagnostics.push_back({{"file", diagnostic.file},
                           {"line", diagnostic.line},
                           {"column", diagnostic.column},
                           {"severity", diagnostic.severity},
                           {"message", diagnostic.message}});
  }
  return {{"exercise", verdict.exercise},
          {"title", verdict.title},
          {"subject", verdict.subject},
          {"file", verdict.file},
          {"verdict", name(verdict.outcome)},
          {"passed", verdict.passed()},
          {"sentence", verdict.sentence},
          {"tests", verdict.tests},
          {"tests_failed", verdict.failed},
          {"failures", failures},
          {"likely_mistakes", mistakes},
          {"findings", faults},
          {"diagnostics", diagnostics},
          {"printed", fmt::format("{}", fmt::join(verdict.printed, "\n"))},
          {"notes", verdict.notes},
          {"build_seconds", verdict.build_seconds},
          {"test_seconds", verdict.test_seconds},
          {"next", verdict.next}};
}

std::string json_line(const Verdict& verdict, const std::string& root) {
  return json(verdict, root).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace learn
