/// The check of an exercise, for the commands that make one.
#pragma once

#include <learn/commands.h>
#include <learn/course.h>
#include <learn/verdict.h>

namespace learn {

/// Judges the code, prints the verdict as the options ask, and notes it in the reader's progress.
Verdict check_and_tell(const Place& place, const Exercise& exercise, const CheckOptions& options);

}  // namespace learn
