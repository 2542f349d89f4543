/// Child processes.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace learn {

struct Finished {
  int exit_code;       // 128 + the signal's number if a signal ended it; 127 if it could not be started
  std::string output;  // standard output and standard error together; of many megabytes the beginning and the end
};

/// Runs a program (looked for in PATH unless it has a slash) with no input and waits for it. on_line, if given, is
/// called with each line of output as it comes, without its line end.
Finished run(const std::vector<std::string>& command, const std::function<void(const std::string& line)>& on_line = {});

}  // namespace learn
