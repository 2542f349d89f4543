/// Text: replaced in, and laid out for a terminal of 80 columns.
#pragma once

#include <cstddef>
#include <string>

namespace learn {

/// text with `to` in every place of `from`.
std::string replaced(std::string text, const std::string& from, const std::string& to);

inline constexpr std::size_t terminal_columns = 80;

/// The columns that a text in UTF-8 takes: its characters without the combining ones. The course has none that are
/// wide.
std::size_t columns_of(const std::string& text);

/// The beginning of a line, with … at its end, where the line takes more columns than these.
std::string shortened(const std::string& line, std::size_t columns);

/// One line broken between words so that no part is longer than the columns where that is possible; the parts behind
/// the first are indented as the line is, and by `hanging` more.
std::string wrapped(const std::string& line, std::size_t hanging = 0, std::size_t columns = terminal_columns);

/// Markdown for a terminal: paragraphs are wrapped, fenced code is indented and stays as it is, its fences are gone.
std::string plain_text(const std::string& markdown);

}  // namespace learn
