#include <host/rms_norm.h>

LayerNormArgs layer_norm_args(const RmsNormArgs& args) {
  LayerNormArgs result;
  result.x = args.x;
  result.gamma = args.gamma;
  result.y = args.y;
  result.rstd = args.rstd;
  result.rows = args.rows;
  result.cols = args.cols;
  result.eps = args.eps;
  return result;
}

RmsNormArgs rms_norm_args(const LayerNormArgs& args) {
  RmsNormArgs result;
  result.x = args.x;
  result.gamma = args.gamma;
  result.y = args.y;
  result.rstd = args.rstd;
  result.rows = args.rows;
  result.cols = args.cols;
  result.eps = args.eps;
  return result;
}

void check(const RmsNormArgs& args, InPlace in_place, const char* function, const char* file, int line) {
  check(layer_norm_args(args), in_place, function, file, line);  // a null beta or mean overlaps nothing
}
