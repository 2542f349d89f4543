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

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
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
