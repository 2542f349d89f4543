/// What the course consists of, read from its folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace learn {

struct Exercise {
  std::string id;                  // "01.2"
  std::string target;              // "01_2": the build targets are 01_2_exercise, 01_2_solution, 01_2_stub
  std::string title;               // from the heading in the exercises' README.md
  std::filesystem::path file;      // relative to the root: exercises/01_three_pass/2_block_tree.cuh
  std::filesystem::path solution;  // relative to the root
  bool reading = false;            // no code: file and solution are the README.md with the questions and the answers
};

struct Chapter {
  std::string name;    // "01_three_pass"
  std::string number;  // "01"
  std::string title;   // the heading of its README.md, without the number
  std::string idea;    // the first sentence below that heading
  std::vector<Exercise> exercises;
};

/// The chapters in the order of chapters/CMakeLists.txt. Throws std::runtime_error where a listed chapter is not there.
std::vector<Chapter> chapters(const std::filesystem::path& root);

/// The chapter called "01" (or "1"). Throws UsageError with a sentence that says which chapters there are.
Chapter find_chapter(const std::vector<Chapter>& chapters, const std::string& number);

/// The exercise called "01.2" (or "1.2"). Throws UsageError with a sentence that says which exercises there are.
Exercise find_exercise(const std::vector<Chapter>& chapters, const std::string& id);

/// What there is to do in a reading exercise, for a command that was asked to judge its code.
std::string reading_note(const Exercise& exercise);

}  // namespace learn
