#include <host/rms_norm.h>

namespace {

/// The arguments of one norm in those of the other; what only To has keeps its default.
template <class To, class From>
To what_both_have(const From& args) {
  To result;
  result.x = args.x;
  result.gamma = args.gamma;
  result.y = args.y;
  result.rstd = args.rstd;
  result.rows = args.rows;
  result.cols = args.cols;
  result.eps = args.eps;
  return result;
}

}  // namespace

LayerNormArgs layer_norm_args(const RmsNormArgs& args) { return what_both_have<LayerNormArgs>(args); }
RmsNormArgs rms_norm_args(const LayerNormArgs& args) { return what_both_have<RmsNormArgs>(args); }

void check(const RmsNormArgs& args, InPlace in_place, const char* function, const char* file, int line) {
  check(layer_norm_args(args), in_place, function, file, line);  // a null beta or mean overlaps nothing
}
