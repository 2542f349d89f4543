#include "barriers.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace barrier_deletion {

namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The text with a space for each character of a comment, a string or a character literal; line ends stay.
std::string code_alone(const std::string& source) {
  std::string code = source;
  const auto blank = [&](std::size_t begin, std::size_t end) {
    end = std::min(end, code.size());
    for (std::size_t i = begin; i < end; ++i)
      if (code[i] != '\n') code[i] = ' ';
    return end;
  };
  const auto behind = [&](const std::string& mark, std::size_t from) {
    const std::size_t at = source.find(mark, from);
    return at == std::string::npos ? source.size() : at + mark.size();
  };
  for (std::size_t i = 0; i < source.size();) {
    const std::string_view rest = std::string_view(source).substr(i);
    if (rest.starts_with("//")) {
      i = blank(i, source.find('\n', i));
    } else if (rest.starts_with("/*")) {
      i = blank(i, behind("*/", i + 2));
    } else if (rest.starts_with("R\"")) {
      const std::size_t bracket = source.find('(', i);
      i = blank(i, behind(")" + source.substr(i + 2, bracket - i - 2) + "\"", bracket));
    } else if (source[i] == '"' || source[i] == '\'') {
      std::size_t end = i + 1;
      while (end < source.size() && source[end] != source[i]) end += source[end] == '\\' ? 2 : 1;
      i = blank(i, end + 1);
    } else if (in_word(source[i])) {
      // A whole word or number at once: the ' in 1'000 begins no character, the R in FOR"" no raw string.
      while (i < source.size() && (in_word(source[i]) || (source[i] == '\'' && std::isdigit(source[i - 1]) != 0))) ++i;
    } else {
      ++i;
    }
  }
  return code;
}

}  // namespace

std::vector<Barrier> barriers_in(const std::string& source) {
  const std::string code = code_alone(source);
  std::vector<Barrier> barriers;
  for (std::size_t begin = 0; (begin = code.find("__sync", begin)) != std::string::npos;) {
    std::size_t end = begin;
    while (end < code.size() && in_word(code[end])) ++end;
    const std::string word = code.substr(begin, end - begin);
    const std::size_t bracket = code.find_first_not_of(" \n", end);
    const bool is_barrier = (word == "__syncthreads" || word == "__syncwarp") &&
                            (begin == 0 || !in_word(code[begin - 1])) && bracket != std::string::npos &&
                            code[bracket] == '(';
    if (is_barrier) {
      int depth = 0;
      end = bracket;
      do {
        depth += code[end] == '(' ? 1 : code[end] == ')' ? -1 : 0;
        ++end;
      } while (depth > 0 && end < code.size());
      barriers.push_back(
          {source.substr(begin, end - begin), begin, end,
           1 + static_cast<int>(std::count(code.begin(), code.begin() + static_cast<long>(begin), '\n'))});
    }
    begin = end;
  }
  return barriers;
}

std::string without(const std::string& source, const Barrier& barrier) {
  // Line ends inside the call are kept, so that a finding behind it names the line of the kernel as it is.
  const std::size_t lines = static_cast<std::size_t>(std::count(barrier.text.begin(), barrier.text.end(), '\n'));
  return source.substr(0, barrier.begin) + "((void)0)" + std::string(lines, '\n') + source.substr(barrier.end);
}

}  // namespace barrier_deletion
