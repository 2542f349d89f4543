/// What ./learn returns; common/learn/help/learn.txt says the same to the reader.
#pragma once

#include <stdexcept>

namespace learn {

enum ExitCode {
  success = 0,
  failure = 1,     // a test, a check or the build failed; sync --check found a difference
  bad_usage = 2,   // a command, option or exercise that does not exist; an input that cannot be used
  bad_machine = 3  // the machine lacks something, or the folder cannot be written
};

/// Thrown for what the reader typed; ends the program with bad_usage. what() is a full sentence.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Thrown for what the machine cannot do; ends the program with bad_machine. what() is a full sentence.
class MachineError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace learn
