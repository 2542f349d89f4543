/// A fixture: nothing needs the barrier but a test that counts barriers, and that is no proof.
#pragma once

namespace counted {

__global__ void barrier_kernel() { __syncthreads(); }

}  // namespace counted
