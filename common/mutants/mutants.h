/// Known-wrong variants of the exercises' solutions, and whether the exercises' tests reject them.
#pragma once

#include <rebuild/rebuild.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace mutants {

/// A known-wrong variant of a solution.
struct Mutant {
  std::string exercise;            // "01.2"
  std::string name;                // "last_step_lost"
  std::string mistake;             // the mistake it stands for, without a full stop; may be empty
  std::string oracle;              // the mistake that the diagnosis should name (testing/diagnosis.h), or empty
  std::filesystem::path solution;  // the file that it changes
  std::string text;                // what that file holds with the mistake in it
};

/// The mutants of every exercise of a course, in the order of its files; with names such as "01.2" or "01", of these
/// exercises and chapters alone. course holds the folders exercises and solutions. Throws std::runtime_error with a
/// sentence where an entry is malformed, its text to be replaced does not occur exactly once in the solution, an
/// exercise has fewer than five mutants, or nothing has one of these names.
std::vector<Mutant> mutants_of(const std::filesystem::path& course, const std::vector<std::string>& names);

/// The same of a file from elsewhere: a list of entries, or {"mutants": [the list]}. An entry names its exercise under
/// "task" or "exercise", as "04.1", "1_warp_reduce" or "04_warp_block_welford/1_warp_reduce", and itself under "name"
/// or "mutant"; in place of "replace" and "with" it may have "source", a whole .cuh file, relative to the list. There
/// may be fewer than five for an exercise.
std::vector<Mutant> mutants_in_file(const std::filesystem::path& file, const std::filesystem::path& course,
                                    const std::vector<std::string>& names);

/// What became of a mutant.
struct Verdict {
  std::string killed_by;               // the test case that failed first, and the check that had a finding; else empty
  std::string sentence;                // for a survivor: what happened, and what to do
  std::vector<std::string> diagnosis;  // the mistakes that the test named
};

/// Whether a diagnosis is what the mutant's oracle asks for.
enum class Diagnosis { right, missed, wrong, none_asked };  // none_asked: no oracle, and no diagnosis
Diagnosis diagnosis_of(const Mutant& mutant, const Verdict& verdict);

/// Whether all mutants are killed, no diagnosis is wrong, and of those with an oracle nine in ten are diagnosed.
bool all_is_well(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts);

/// The test case that failed first in the output of a doctest program, without the name of its subject; else empty.
std::string first_failure(const std::string& output);

/// The mistakes that a test named in its output: those in its lines "likely mistake: … (name); read …".
std::vector<std::string> named_mistakes(const std::string& output);

/// Builds the test of the mutant's exercise with the mutant in place of the solution, and runs it up to the first
/// failure.
Verdict judge(const std::vector<rebuild::Test>& tests, const std::filesystem::path& build, const Mutant& mutant,
              int limit_seconds);

/// A digest for each exercise: what its mutants' verdicts depend on. Of the mutants, of all files that the exercise's
/// test is compiled from, and of the executor and the other libraries that it links, below root/common.
using Digests = std::map<std::string, std::string>;  // by exercise
Digests digests_of(const std::vector<Mutant>& mutants, const std::vector<rebuild::Test>& tests,
                   const std::filesystem::path& root);

/// What is to be tried, as places in mutants, if the verdicts of the exercises with these digests are known: of those
/// one in n, others whenever the digest is another; of every other exercise all.
std::vector<std::size_t> sample_of(const std::vector<Mutant>& mutants, const Digests& digests, const Digests& known,
                                   std::size_t n);

/// One mutant in the matrix that the program prints: its diagnosis, and below it what kills it. At most 80 columns wide
/// unless a name is longer than that.
std::string matrix_entry(const Mutant& mutant, const Verdict& verdict);
/// How many of them are killed, and how many diagnosed.
std::string summary(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts);
/// {"mutants": [{"exercise", "mutant", "killed", "killed_by", "oracle", "diagnosis"}]}; null where there is none.
std::string json(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts);
/// docs/mutants.md: each mutant with the mistake it stands for, the test case that kills it, and the diagnosis; and the
/// digest of what each exercise was judged with.
std::string page(const std::vector<Mutant>& mutants, const std::vector<Verdict>& verdicts, const Digests& digests);
/// What such a page says of the mutants; of one that it does not name, that it survived.
std::vector<Verdict> verdicts_on(const std::string& page, const std::vector<Mutant>& mutants);
Digests digests_on(const std::string& page);

}  // namespace mutants
