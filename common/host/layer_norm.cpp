#include <host/argument_check.h>
#include <host/layer_norm.h>

void check(const LayerNormArgs& args, InPlace in_place, const char* function, const char* file, int line) {
  const ArgumentCheck check(function, file, line);
  check.at_least("rows", args.rows, 0);
  check.at_least("cols", args.cols, 1);
  check.addressable(args.rows, args.cols);
  check.at_least_zero("eps", args.eps);
  if (args.rows == 0) return;

  check.not_null("x", args.x);
  check.not_null("y", args.y);
  const std::int64_t count = args.rows * args.cols;
  const ArgumentCheck::Range x{"x", args.x, count};
  const ArgumentCheck::Range y{"y", args.y, count};
  const ArgumentCheck::Range gamma{"gamma", args.gamma, args.cols};
  const ArgumentCheck::Range beta{"beta", args.beta, args.cols};
  const ArgumentCheck::Range mean{"mean", args.mean, args.rows};
  const ArgumentCheck::Range rstd{"rstd", args.rstd, args.rows};

  if (args.y != args.x || in_place == InPlace::refused) check.disjoint(y, x);
  for (const ArgumentCheck::Range& input : {gamma, beta}) check.disjoint(y, input);
  for (const ArgumentCheck::Range& statistic : {mean, rstd}) {
    for (const ArgumentCheck::Range& other : {x, y, gamma, beta}) check.disjoint(statistic, other);
  }
  check.disjoint(rstd, mean);
}
