/// What a doctest program has to say, for a program to read: ./learn check runs the tests of an exercise with
/// --reporters=report --out=FILE. A kernel may print what it likes meanwhile, and whoever ends the program before its
/// tests are over leaves no last line.
///
/// A line is a JSON object:
///   {"test": NAME, "file": FILE, "line": N, "message": TEXT}   for each check that failed and each exception
///   {"tests": N, "failed": N}                                  last
#pragma once

namespace testing {

/// Makes the reporter known to doctest; to be called before the tests run.
void register_report();

}  // namespace testing
