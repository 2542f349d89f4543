/// So that #include <cuda_runtime.h> means the same for both backends.
#pragma once
#include <simt/cuda.h>
