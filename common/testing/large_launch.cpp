#include <testing/large_launch.h>

#include <host/launch_window.h>
#include <testing/violations.h>

#include <utility>

namespace testing {

DeviceBuffer<float> large_buffer(const char* name, std::int64_t count) {
  try {
    return DeviceBuffer<float>::untouched(name, count);
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorMemoryAllocation) throw;
    throw NotTested(error.what());
  }
}

NormResult run_last_rows(NormLauncher launcher, std::int64_t rows_per_block, std::int64_t rows, const NormCase& last) {
  const std::int64_t cols = last.cols;
  const std::int64_t first = rows - last.rows;
  const std::int64_t first_block = first / rows_per_block;
  DeviceBuffer<float> x = large_buffer("x", rows * cols);
  const DeviceBuffer<float> y = large_buffer("y", rows * cols);
  const DeviceBuffer<float> mean = large_buffer("mean", rows);
  const DeviceBuffer<float> rstd = large_buffer("rstd", rows);
  const DeviceBuffer<float> gamma("gamma", last.gamma), beta("beta", last.beta);
  // The block of the first of these rows has other rows before it.
  const std::span<const float> first_row = std::span(last.x).first(static_cast<std::size_t>(cols));
  for (std::int64_t row = first_block * rows_per_block; row < first; ++row) x.upload(first_row, row * cols);
  x.upload(last.x, first * cols);

  LayerNormArgs args;
  args.x = x.data();
  args.gamma = last.gamma.empty() ? nullptr : gamma.data();
  args.beta = last.beta.empty() ? nullptr : beta.data();
  args.y = y.data();
  args.mean = mean.data();
  args.rstd = rstd.data();
  args.rows = rows;
  args.cols = cols;
  args.eps = last.eps;
  {
    const LaunchWindow last_blocks(static_cast<std::uint64_t>(first_block), to_the_end);
    launcher(args, nullptr);
    check_cuda(cudaDeviceSynchronize(), "the kernel");
  }
  for (const auto* buffer : {&std::as_const(x), &y, &mean, &rstd}) buffer->check_guards();
  const bool has_mean = launcher.norm() == Norm::layer_norm;
  return {y.download(first * cols, last.rows * cols), has_mean ? mean.download(first, last.rows) : std::vector<float>(),
          rstd.download(first, last.rows)};
}

}  // namespace testing
