/// Known-wrong variants of the exercises' solutions, and whether the exercises' tests reject them.
#pragma once

#include <rebuild/rebuild.h>

#include <filesystem>
#include <string>
#include <vector>

namespace mutants {

/// One entry of an exercises/NN_name/mutants.json.
struct Mutant {
  std::string exercise;            // "01.2"
  std::string name;                // "last_step_lost"
  std::string mistake;             // the mistake it stands for, without a full stop
  std::filesystem::path solution;  // the file that it changes
  std::string text;                // what that file holds with the mistake in it
};

/// The mutants of every exercise of a course, in the order of its files; with names such as "01.2" or "01", of these
/// exercises and chapters alone. course holds the folders exercises and solutions. Throws std::runtime_error with a
/// sentence where an entry is incomplete, its text to be replaced does not occur exactly once in the solution, an
/// exercise has fewer than five mutants, or nothing has one of these names.
std::vector<Mutant> mutants_of(const std::filesystem::path& course, const std::vector<std::string>& names);

/// What became of a mutant.
struct Verdict {
  std::string rejected_by;  // the test case that failed first, and the check that had a finding; empty for a survivor
  std::string sentence;     // for a survivor: what happened, and what to do
};

/// The test case that failed first in the output of a doctest program, without the name of its subject; else empty.
std::string first_failure(const std::string& output);

/// Builds the test of the mutant's exercise with the mutant in place of the solution, and runs it up to the first
/// failure.
Verdict judge(const std::vector<rebuild::Test>& tests, const std::filesystem::path& build, const Mutant& mutant,
              int limit_seconds);

/// docs/mutants.md: each mutant with the mistake it stands for and the test case that rejects it.
std::string page(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts);

}  // namespace mutants
