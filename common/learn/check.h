/// The check of an exercise, for the commands that make one.
#pragma once

#include <learn/commands.h>
#include <learn/course.h>
#include <learn/verdict.h>

namespace learn {

/// Says whose code it is and judges it.
Verdict judge(const Place& place, const Exercise& exercise, const CheckOptions& options);

/// Prints the verdict as the options ask, and notes it in the reader's progress.
void tell(const Verdict& verdict, const Place& place, const CheckOptions& options);

}  // namespace learn
