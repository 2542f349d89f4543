/// The marks in source files from which other files are derived: regions, exercise stubs, copies of a chapter's code.
///
/// A mark is a comment that has a line to itself:
///
///   // [kernel]  …  // [/kernel]                     a region, for a README; any lower-case name
///   // [solution] hint  …  // [/solution]            in the stub: // TODO: hint
///   // [solution]  …  // [stub]  …  // [/solution]   in the stub: the lines behind [stub], taken out of their comments
///   // [from file.cuh#region]  …  // [/from]         in a solution: what the chapter's file holds in that region
///                                                   (or a file of that path from the root: common/device/reduce.cuh)
///
/// A hint and a [stub] part together give the TODO and then the lines. This library uses the standard library alone:
/// the build of every backend needs it.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace learn {

/// A mark that is misplaced or missing. what() begins with file:line.
class MarkError : public std::runtime_error {
public:
  MarkError(const std::string& file, int line, const std::string& sentence);
};

/// The lines of text between `// [name]` and `// [/name]`, shifted to the left edge, without the marks inside them.
std::string region(const std::string& text, const std::string& file, const std::string& name);

/// The stub that belongs to this solution.
std::string stub(const std::string& solution, const std::string& file);

/// text with every `// [from source#region]` filled with read(source, region), indented like its mark.
using RegionReader = std::function<std::string(const std::string& source, const std::string& region)>;
std::string filled(const std::string& text, const std::string& file, const RegionReader& read);

/// The lines of a text, without their line ends.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace learn
