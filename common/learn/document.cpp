#include <learn/document.h>

#include <learn/marks.h>

#include <algorithm>
#include <regex>

namespace learn {
namespace {

bool is_fence(const std::string& line) { return line.starts_with("```"); }

/// The figure at the end of text becomes the value; false if there is none.
bool set_figure(std::string& text, const Value& value) {
  static const std::string number = R"((?:−)?(?:\d{1,3}(?: \d{3})+|\d+)(?:\.\d+)?)", before = R"((^|[^\d.]))";
  static const std::regex one(before + number + "( %)?$");
  static const std::regex one_or_two(before + number + "( to " + number + ")?( %)?$");
  std::smatch found;
  if (!std::regex_search(text, found, value.of_several ? one_or_two : one)) return false;
  text.replace(static_cast<std::size_t>(found.position() + found.length(1)), std::string::npos, value.text);
  return true;
}

/// A line of prose with the figure before each of its marks as the mark says.
std::string with_values(const std::string& line, const BlockSources& sources,
                        const std::function<MarkError(const std::string&)>& error) {
  static const std::regex code_or_comment("`[^`]*`|<!--.*?-->"), mark(R"(<!-- value: (.*\S) -->)");
  std::string result;
  auto rest = line.begin();
  for (std::sregex_iterator it(line.begin(), line.end(), code_or_comment), end; it != end; ++it) {
    const std::string part = it->str();
    result.append(rest, (*it)[0].first);
    rest = (*it)[0].second;
    std::smatch found;
    if (std::regex_match(part, found, mark)) {
      Value value;
      try {
        value = sources.value(found[1]);
      } catch (const std::runtime_error& reason) {
        throw error("the figure cannot be written: " + std::string(reason.what()));
      }
      if (!set_figure(result, value))
        throw error("there is no figure directly before '" + part + "'; write " + value.text + " there");
    } else if (!part.starts_with('`')) {
      throw error("there is no mark '" + part + "' for a line of prose; a figure's is <!-- value: … -->");
    }
    result += part;
  }
  return result.append(rest, line.end());
}

}  // namespace

std::string filled_document(const std::string& text, const std::string& file, const BlockSources& sources) {
  static const std::regex block_mark(R"(^<!-- (code|output|table|figure|data): (.*\S) -->$)");
  const std::vector<std::string> lines = lines_of(text);
  std::string result;
  const auto number = [](std::size_t i) { return static_cast<int>(i) + 1; };
  const auto find = [&](std::size_t from, auto&& is_end) {
    return std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.end(), is_end) - lines.begin();
  };

  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_fence(lines[i])) {
      result += lines[i] + '\n';
      while (++i < lines.size() && !is_fence(lines[i])) result += lines[i] + '\n';
      if (i == lines.size()) throw MarkError(file, number(i - 1), "a fenced block is not closed");
      result += lines[i] + '\n';
      continue;
    }
    std::smatch found;
    if (!std::regex_match(lines[i], found, block_mark)) {
      result += with_values(lines[i], sources,
                            [&](const std::string& sentence) { return MarkError(file, number(i), sentence); }) +
                '\n';
      continue;
    }
    result += lines[i] + '\n';
    const std::string kind = found[1], argument = found[2];
    const std::size_t mark = i;

    if (kind == "figure" || kind == "data") {
      static const std::regex image(R"(^!\[.*\]\((.*\.svg)\)$)"), link(R"(^.*\[.*\]\((.*\.json)\).*$)");
      const bool is_figure = kind == "figure";
      if (i + 1 == lines.size() || !std::regex_match(lines[i + 1], found, is_figure ? image : link)) {
        throw MarkError(file, number(mark),
                        is_figure ? "the line behind this mark must be an image: ![words](file.svg)"
                                  : "the line behind this mark must hold a link: [words](file.json)");
      }
      try {
        (is_figure ? sources.figure : sources.data)(argument, found[1]);
      } catch (const std::runtime_error& error) {
        throw MarkError(file, number(mark), "the " + kind + " cannot be made: " + error.what());
      }
      continue;
    }
    std::size_t end;
    if (kind == "table") {
      end = static_cast<std::size_t>(find(i + 1, [](const std::string& line) { return line == "<!-- /table -->"; }));
      if (end == lines.size()) throw MarkError(file, number(mark), "the table is not closed; add <!-- /table -->");
    } else {
      if (i + 1 == lines.size() || !is_fence(lines[i + 1])) {
        throw MarkError(file, number(mark), "the line behind this mark must open a fenced block with ```");
      }
      result += lines[++i] + '\n';
      end = static_cast<std::size_t>(find(i + 1, is_fence));
      if (end == lines.size()) throw MarkError(file, number(i), "the fenced block is not closed");
    }
    try {
      const auto& source = kind == "code" ? sources.code : kind == "output" ? sources.output : sources.table;
      result += source(argument);
    } catch (const std::runtime_error& error) {
      throw MarkError(file, number(mark), "the block cannot be filled: " + std::string(error.what()));
    }
    result += lines[end] + '\n';
    i = end;
  }
  return result;
}

std::string difference(const std::string& file, const std::string& is, const std::string& should_be) {
  if (is == should_be) return "";
  const std::vector<std::string> a = lines_of(is), b = lines_of(should_be);
  // common[i][j]: length of the longest common subsequence of a[i…] and b[j…].
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text = "--- " + file + "\n+++ as its source says\n";
  bool in_change = false;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i, ++j;
      in_change = false;
      continue;
    }
    if (!in_change) text += "@@ line " + std::to_string(i + 1) + " @@\n";
    in_change = true;
    if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      text += "-" + a[i++] + '\n';
    } else {
      text += "+" + b[j++] + '\n';
    }
  }
  const bool has_line_end = is.empty() || is.ends_with('\n');
  return has_line_end ? text : text + "(The last line of the file has no line end.)\n";
}

}  // namespace learn
