#include <learn/text.h>

#include <learn/marks.h>

#include <algorithm>
#include <sstream>

namespace learn {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

namespace {

/// Whether a character that takes a column of its own begins with this byte.
bool begins_column(const std::string& text, std::size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  const bool continues = (byte & 0xc0) == 0x80;
  // U+0300 to U+036F, as in x̂: CC 80 to CD AF.
  const bool combines =
      byte == 0xcc || (byte == 0xcd && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xb0);
  return !continues && !combines;
}

}  // namespace

std::size_t columns_of(const std::string& text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) columns += begins_column(text, i) ? 1 : 0;
  return columns;
}

std::string shortened(const std::string& line, std::size_t columns) {
  std::size_t end = 0, taken = 0;  // the last column that fits when one is left for the …
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!begins_column(line, i)) continue;
    if (taken + 1 == columns) end = i;
    if (++taken > columns) return line.substr(0, end) + "…";
  }
  return line;
}

std::string wrapped(const std::string& line, std::size_t hanging, std::size_t columns) {
  if (columns_of(line) <= columns) return line;
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string result, part(indent, ' '), word;
  bool is_empty = true;  // the part has no word yet
  for (std::istringstream words(line); words >> word;) {
    if (!is_empty && columns_of(part) + 1 + columns_of(word) > columns) {
      result += part + "\n";
      part.assign(indent + hanging, ' ');
      is_empty = true;
    }
    part += (is_empty ? "" : " ") + word;
    is_empty = false;
  }
  return result + part;
}

std::string plain_text(const std::string& markdown) {
  std::string text;
  bool in_code = false;
  for (const std::string& line : lines_of(markdown)) {
    if (line.starts_with("```")) {
      in_code = !in_code;
    } else if (in_code) {
      text += (line.empty() ? "" : "    " + line) + "\n";
    } else {
      text += wrapped(line, line.starts_with("* ") ? 2 : 0) + "\n";
    }
  }
  return text;
}

}  // namespace learn
