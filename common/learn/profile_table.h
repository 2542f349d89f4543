/// What a kernel asked of memory, by source line: the table, the sentences and the JSON of ./learn profile.
#pragma once

#include <simt/profile.h>

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace learn {

/// The text of a line of a source file, without the spaces around it; empty where there is none.
using SourceLines = std::function<std::string(const std::string& file, int line)>;

/// The sentences that a line's counts are worth: needless sectors, bank conflicts, what is read again, idle lanes.
std::vector<std::string> remarks(const simt::LineCounts& line);

/// A kernel's table, at most 100 columns wide: its lines, the most needless sectors and wavefronts first, then the most
/// requests; its totals by buffer; its barriers and shuffles.
std::string profile_text(const simt::KernelProfile& kernel, const SourceLines& source);
/// What the columns mean, and what the counts are not.
std::string profile_legend();
/// The same for programs; the names of its fields are stable.
nlohmann::ordered_json profile_json(const simt::KernelProfile& kernel, const SourceLines& source);

}  // namespace learn
