#include <benchmark/course_kernels.h>
#include <learn/stage.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace {

const std::vector<learn::Stage>& stages() {
  static const std::vector<learn::Stage> all = learn::all_stages();
  return all;
}

bool exists(int kernel) { return kernel >= 0 && kernel < lnh_kernels(); }

const learn::Stage& stage(int kernel) { return stages()[static_cast<std::size_t>(kernel)]; }

/// The launcher of a kernel of this kind; throws std::invalid_argument for any other number.
template <class Launcher>
const Launcher& launcher(int kernel, const char* kind) {
  if (!exists(kernel)) {
    throw std::invalid_argument("there is no kernel " + std::to_string(kernel) + ": there are those from 0 to " +
                                std::to_string(lnh_kernels() - 1));
  }
  const auto* found = std::get_if<Launcher>(&stage(kernel).launcher);
  if (found == nullptr) throw std::invalid_argument(stage(kernel).kernel + " is no " + kind);
  return *found;
}

/// NULL, or what run() threw.
template <class Run>
const char* error_of(const Run& run) {
  thread_local std::string text;
  try {
    run();
    return nullptr;
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
    text = "something that is no std::exception was thrown";
  }
  return text.c_str();
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

const char* lnh_toolkit(void) {
#ifdef LNH_CUDA
  static const std::string text =
      "CUDA " + std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
  return text.c_str();
#else
  return "the CPU executor";
#endif
}

int lnh_kernels(void) { return static_cast<int>(stages().size()); }

const char* lnh_name(int kernel) { return exists(kernel) ? stage(kernel).kernel.c_str() : nullptr; }

const char* lnh_operation(int kernel) {
  if (!exists(kernel)) return nullptr;
  const auto& launcher = stage(kernel).launcher;
  if (const auto* norm = std::get_if<NormLauncher>(&launcher))
    return norm->norm() == Norm::layer_norm ? "layer_norm" : "rms_norm";
  if (const auto* backward = std::get_if<NormBackwardLauncher>(&launcher))
    return backward->norm() == Norm::layer_norm ? "layer_norm_backward" : "rms_norm_backward";
  return "copy";
}

int64_t lnh_workspace_floats(int kernel, int64_t rows, int64_t cols) {
  if (!exists(kernel)) return -1;
  const bool backward = std::holds_alternative<NormBackwardLauncher>(stage(kernel).launcher);
  return backward && rows > 0 && cols > 0 ? workspace_floats(rows, cols) : 0;
}

const char* lnh_copy(int kernel, const float* x, float* y, int64_t count, void* stream) {
  return error_of([&] { launcher<CopyLauncher>(kernel, "copy")({.x = x, .y = y, .count = count}, stream_of(stream)); });
}

const char* lnh_norm(int kernel, const float* x, const float* gamma, const float* beta, float* y, float* mean,
                     float* rstd, int64_t rows, int64_t cols, float eps, void* stream) {
  return error_of([&] {
    launcher<NormLauncher>(kernel, "forward of a norm")({.x = x,
                                                         .gamma = gamma,
                                                         .beta = beta,
                                                         .y = y,
                                                         .mean = mean,
                                                         .rstd = rstd,
                                                         .rows = rows,
                                                         .cols = cols,
                                                         .eps = eps},
                                                        stream_of(stream));
  });
}

const char* lnh_norm_backward(int kernel, const float* x, const float* gamma, const float* mean, const float* rstd,
                              const float* dy, float* dx, float* dgamma, float* dbeta, float* workspace, int64_t rows,
                              int64_t cols, void* stream) {
  return error_of([&] {
    launcher<NormBackwardLauncher>(kernel, "backward of a norm")({.x = x,
                                                                  .gamma = gamma,
                                                                  .mean = mean,
                                                                  .rstd = rstd,
                                                                  .dy = dy,
                                                                  .dx = dx,
                                                                  .dgamma = dgamma,
                                                                  .dbeta = dbeta,
                                                                  .workspace = workspace,
                                                                  .rows = rows,
                                                                  .cols = cols},
                                                                 stream_of(stream));
  });
}
