/// A fixture: a kernel that no test compiles.
#pragma once

__global__ void untested_kernel() { __syncthreads(); }
