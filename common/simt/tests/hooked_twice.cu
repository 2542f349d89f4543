#include "hooked_twice.h"

#include <host/launch.h>

namespace hooked_twice {

__global__ void read_one(const float* x, float* y) { *y = read(x); }

void launch_from_the_other_file(const float* x, float* y) { launch(read_one, {1, 1}, x, y); }

}  // namespace hooked_twice
