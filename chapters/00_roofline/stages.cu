// The kernels of this chapter in ./learn tour.
#include "copy.cuh"

#include <learn/stage.h>

static const learn::Stages stages{"00_roofline",
                                  {{"copy::scalar", copy::scalar}, {"copy::vectorized", copy::vectorized}}};
