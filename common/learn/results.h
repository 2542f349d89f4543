/// Tables of stored measurements, for the READMEs. In each, a cold L2 means the largest size of each number of columns,
/// of a few numbers of columns, and `~` marks a noisy figure. Each ends with card, driver, toolkit, date and commit.
#pragma once

#include <learn/measurements.h>

namespace learn {

/// A line for each point of one file.
std::string results_table(const Measurements& results);

/// Whose kernels a table shows: those whose names begin with one of some words, "shape,wide"; all without any.
class KernelFilter {
public:
  KernelFilter() = default;
  explicit KernelFilter(const std::string& words_with_commas);

  bool empty() const { return words_.empty(); }
  bool shows(const std::string& kernel) const;
  /// Throws std::runtime_error, naming a word that shows none of these.
  void require_all_used(const std::vector<std::string>& kernels) const;

private:
  std::vector<std::string> words_;
};

/// Fractions of a copy: a line for each kernel of these files, a column for each number of columns, the largest of each
/// column in bold. Cold L2 only. Throws std::runtime_error if there is nothing to show.
std::string fractions_table(const std::vector<Measurements>& results, const KernelFilter& only = {});

/// That table with the course's kernels alone, chapter::kernel, without what a chapter tries out beside them.
std::string ladder_table(const std::vector<Measurements>& results);

/// That table with the kernels and the peers of one operation, "rms_norm", and below it the peers' versions, and which
/// were absent.
std::string peers_table(const std::string& operation, const Measurements& results);

/// How far the second run of each file, folder/second/FILE, is from the first, folder/FILE; the points that differ.
/// Throws std::runtime_error if there is no second run.
std::string noise_table(const std::filesystem::path& folder);

/// The table of a stored page, its lines that begin with `|`, and below it what the page says of card, driver, date and
/// commit. Throws std::runtime_error for a page that has not one table, or names no card.
std::string page_table(const std::filesystem::path& page, const KernelFilter& only = {});

/// The table that a mark in a README names: "results CARD/NAME", "fractions CARD/NAME … [only WORD,…]",
/// "ladder CARD/NAME …", "peers OPERATION CARD/NAME" or "noise CARD", for folder/CARD/NAME.json, and
/// "page CARD/NAME [only WORD,…]" for folder/CARD/NAME.md. Throws std::runtime_error, with a sentence that says
/// which tables there are, for any other.
std::string stored_table(const std::string& name, const std::filesystem::path& folder);

}  // namespace learn
