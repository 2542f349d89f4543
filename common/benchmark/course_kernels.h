/* The course's kernels behind a C interface, for programs in other languages: libcourse_kernels.so of the cuda preset.
 *
 *   const char* error = lnh_norm(kernel, x, gamma, beta, y, mean, rstd, rows, cols, 1e-5f, stream);
 *   if (error != NULL) puts(error);
 *
 * The kernels are those of ./learn tour, in its order, numbered from 0. All pointers to floats are device memory, and
 * matrices are [rows][cols], row-major, without padding. A launch returns before the GPU is done.
 *
 * A launch returns NULL, or why it failed: the number names no kernel of this kind, an argument is refused, or CUDA
 * reports an error. The text is the calling thread's, until its next call. No C++ exception gets out. */
#ifndef LNH_COURSE_KERNELS_H
#define LNH_COURSE_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the kernels were compiled with: "CUDA 13.0"; "the CPU executor" on simt. */
const char* lnh_toolkit(void);

/* How many kernels there are. */
int lnh_kernels(void);

/* "fused_layer_norm::layer_norm"; NULL if there is no such kernel. */
const char* lnh_name(int kernel);

/* "copy", "layer_norm", "rms_norm", "layer_norm_backward" or "rms_norm_backward"; NULL if there is no such kernel. */
const char* lnh_operation(int kernel);

/* Floats that the workspace of this kernel must hold: 0 but for a backward. -1 if there is no such kernel. */
int64_t lnh_workspace_floats(int kernel, int64_t rows, int64_t cols);

/* y[i] = x[i]: x, y [count]. stream is a cudaStream_t; NULL is the default stream. */
const char* lnh_copy(int kernel, const float* x, float* y, int64_t count, void* stream);

/* A forward of either norm, host/layer_norm.h: x, y [rows][cols]; gamma, beta [cols] or NULL (1 and 0); mean, rstd
 * [rows] or NULL (not kept). RMSNorm does not look at beta and mean. */
const char* lnh_norm(int kernel, const float* x, const float* gamma, const float* beta, float* y, float* mean,
                     float* rstd, int64_t rows, int64_t cols, float eps, void* stream);

/* A backward of either norm, host/norm_backward.h: x, dy, dx [rows][cols]; gamma [cols] or NULL; mean, rstd [rows] as
 * the forward kept them; dgamma, dbeta [cols]; dx, dgamma and dbeta may be NULL (not wanted). RMSNorm does not look at
 * mean and dbeta. */
const char* lnh_norm_backward(int kernel, const float* x, const float* gamma, const float* mean, const float* rstd,
                              const float* dy, float* dx, float* dgamma, float* dbeta, float* workspace, int64_t rows,
                              int64_t cols, void* stream);

#ifdef __cplusplus
}
#endif

#endif
