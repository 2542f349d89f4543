#include <learn/marks.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>

namespace learn {
namespace {

struct Mark {
  bool closes;           // // [/name]
  std::string name;      // "solution", "stub", "from" or the name of a region
  std::string argument;  // the hint of a solution, file#region of a copy
  std::string indent;
};

std::optional<Mark> mark_in(const std::string& line) {
  static const std::regex closing(R"(^([ \t]*)// \[/([a-z][a-z0-9_-]*)\]$)");
  static const std::regex solution(R"(^([ \t]*)// \[(solution)\](?: +(.*\S))?$)");
  static const std::regex copy(R"(^([ \t]*)// \[(from) ([^\]]+)\]$)");
  static const std::regex opening(R"(^([ \t]*)// \[([a-z][a-z0-9_-]*)\]$)");
  std::smatch found;
  if (line.find("// [") == std::string::npos) return std::nullopt;
  if (std::regex_match(line, found, closing)) return Mark{true, found[2], "", found[1]};
  for (const std::regex* pattern : {&solution, &copy}) {
    if (std::regex_match(line, found, *pattern)) return Mark{false, found[2], found[3], found[1]};
  }
  if (std::regex_match(line, found, opening)) return Mark{false, found[2], "", found[1]};
  return std::nullopt;
}

int number(std::size_t index) { return static_cast<int>(index) + 1; }

/// Refuses a text whose marks do not pair up. Regions may overlap; a solution is not nested in another.
void require_balance(const std::vector<std::string>& lines, const std::string& file) {
  std::vector<std::pair<std::string, int>> open;
  const auto find = [&](const std::string& name) {
    return std::find_if(open.begin(), open.end(), [&](const auto& entry) { return entry.first == name; });
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<Mark> mark = mark_in(lines[i]);
    if (!mark) continue;
    const auto opened = find(mark->name);
    if (mark->name == "stub") {
      if (mark->closes) throw MarkError(file, number(i), "[/stub] is no mark; a [stub] part ends at [/solution]");
      if (find("solution") == open.end()) throw MarkError(file, number(i), "[stub] stands outside a [solution]");
    } else if (mark->closes) {
      if (opened == open.end()) {
        throw MarkError(file, number(i), "[/" + mark->name + "] closes a region that was not opened");
      }
      open.erase(opened);
    } else if (opened != open.end()) {
      throw MarkError(file, number(i),
                      "[" + mark->name + "] is still open since line " + std::to_string(opened->second));
    } else {
      open.emplace_back(mark->name, number(i));
    }
  }
  if (!open.empty()) {
    const auto& [name, line] = open.front();
    throw MarkError(file, line, "[" + name + "] is not closed; add // [/" + name + "] behind its last line");
  }
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t") == std::string::npos; }

void shift_to_left_edge(std::vector<std::string>& lines) {
  std::size_t margin = std::string::npos;
  for (const std::string& line : lines) {
    if (!is_blank(line)) margin = std::min(margin, line.find_first_not_of(' '));
  }
  for (std::string& line : lines) line = is_blank(line) ? "" : line.substr(margin);
}

/// "  // y = x;" -> "  y = x;"
std::string out_of_comment(const std::string& line, const std::string& indent, const std::string& file, int at) {
  if (line == indent + "//") return "";
  const std::string prefix = indent + "// ";
  if (!line.starts_with(prefix)) {
    throw MarkError(file, at, "a line of a [stub] part starts with '// ', indented like its [solution]");
  }
  return indent + line.substr(prefix.size());
}

}  // namespace

MarkError::MarkError(const std::string& file, int line, const std::string& sentence)
    : std::runtime_error(file + ":" + std::to_string(line) + ": " + sentence + (sentence.ends_with('.') ? "" : ".")) {}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string region(const std::string& text, const std::string& file, const std::string& name) {
  const std::vector<std::string> lines = lines_of(text);
  require_balance(lines, file);
  std::vector<std::string> inside;
  bool found = false, open = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<Mark> mark = mark_in(lines[i]);
    if (mark && mark->name == name) {
      if (!mark->closes && found) throw MarkError(file, number(i), "there is a second region [" + name + "]");
      open = !mark->closes;
      found = true;
    } else if (open && !mark) {
      inside.push_back(lines[i]);
    }
  }
  if (!found) throw MarkError(file, 1, "there is no region [" + name + "]");
  shift_to_left_edge(inside);
  return joined(inside);
}

std::string stub(const std::string& solution, const std::string& file) {
  const std::vector<std::string> lines = lines_of(solution);
  require_balance(lines, file);
  std::vector<std::string> result;
  std::optional<Mark> task;  // the [solution] we are in
  int task_line = 0, tasks = 0;
  bool in_stub_part = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<Mark> mark = mark_in(lines[i]);
    if (!mark) {
      if (!task) result.push_back(lines[i]);
      if (in_stub_part) result.push_back(out_of_comment(lines[i], task->indent, file, number(i)));
    } else if (mark->name == "stub") {
      in_stub_part = true;
    } else if (mark->name == "solution" && !mark->closes) {
      task = mark;
      task_line = number(i);
      ++tasks;
      if (!mark->argument.empty()) result.push_back(mark->indent + "// TODO: " + mark->argument);
    } else if (mark->name == "solution") {
      if (task->argument.empty() && !in_stub_part) {
        throw MarkError(file, task_line, "this [solution] has neither a hint nor a [stub] part");
      }
      task.reset();
      in_stub_part = false;
    }
  }
  if (tasks == 0)
    throw MarkError(file, 1, "a solution marks what the reader writes with // [solution]; there is no such mark");
  return joined(result);
}

std::string filled(const std::string& text, const std::string& file, const RegionReader& read) {
  const std::vector<std::string> lines = lines_of(text);
  require_balance(lines, file);
  std::vector<std::string> result;
  bool in_copy = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<Mark> mark = mark_in(lines[i]);
    if (mark && mark->name == "from") {
      in_copy = !mark->closes;
      result.push_back(lines[i]);
      if (!in_copy) continue;
      const std::size_t hash = mark->argument.find('#');
      if (hash == std::string::npos)
        throw MarkError(file, number(i), "[from …] needs a file and a region: [from file.cuh#region]");
      std::string copy;
      try {
        copy = read(mark->argument.substr(0, hash), mark->argument.substr(hash + 1));
      } catch (const std::runtime_error& error) {
        throw MarkError(file, number(i), std::string("[from …] cannot be filled: ") + error.what());
      }
      for (const std::string& line : lines_of(copy)) result.push_back(line.empty() ? line : mark->indent + line);
    } else if (!in_copy) {
      result.push_back(lines[i]);
    }
  }
  return joined(result);
}

}  // namespace learn
