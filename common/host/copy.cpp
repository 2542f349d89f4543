#include <host/argument_check.h>
#include <host/copy.h>

void check(const CopyArgs& args, const char* function, const char* file, int line) {
  const ArgumentCheck check(function, file, line);
  check.at_least("count", args.count, 0);
  check.at_most("count", args.count, ArgumentCheck::most_floats);
  if (args.count == 0) return;
  check.not_null("x", args.x);
  check.not_null("y", args.y);
  check.disjoint({"y", args.y, args.count}, {"x", args.x, args.count});
}
