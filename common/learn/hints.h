/// The hints of an exercise, as they stand in the exercises' README.md.
#pragma once

#include <learn/course.h>

#include <filesystem>
#include <string>
#include <vector>

namespace learn {

struct Hint {
  std::string title;  // "the idea"
  std::string text;   // Markdown
};

/// The part of a Markdown file below the heading of this exercise, "## 01.1 …", up to the next heading of its level.
std::string section_of(const std::string& markdown, const std::string& exercise);

/// The levels in their order: <details> with <summary>Hint 1 of 3: the idea</summary>. Throws std::runtime_error with a
/// sentence where they are not counted from 1 to their number.
std::vector<Hint> hints_in(const std::string& section, const std::string& file);

/// A reading exercise has none.
std::vector<Hint> hints_of(const std::filesystem::path& root, const Exercise& exercise);

}  // namespace learn
