/// A kernel with its buffers and data: what a benchmark launches, poisons and verifies.
#pragma once

#include <host/copy.h>
#include <host/norm_backward.h>
#include <host/norm_launcher.h>

#include <cstdint>
#include <memory>
#include <string>

namespace benchmarking {

class Workload {
public:
  virtual ~Workload() = default;

  virtual void launch() = 0;  // on the default stream; returns before a GPU is done
  /// Fills every output with poison.
  virtual void poison() = 0;
  /// Empty if every output is written and right, else what is wrong, as sentences. The outputs must come from launch().
  virtual std::string verify() const = 0;

  virtual std::int64_t least_bytes() const = 0;
  virtual const float* x() const = 0;
  /// Elements of x: a copy of as many is the yardstick.
  virtual std::int64_t elements() const = 0;
};

/// Random x of `count` elements.
std::unique_ptr<Workload> make_workload(CopyLauncher launcher, std::int64_t count);
/// Random x [rows][cols], gamma and beta; mean and rstd are kept; RMSNorm is without beta and mean. At most 64 rows,
/// spread over the batch, are verified against the double-precision reference; the others are looked at for poison.
std::unique_ptr<Workload> make_workload(NormLauncher launcher, std::int64_t rows, std::int64_t cols);

/// Which gradients a backward is asked for.
enum class Gradients { all, dx, sums };  // sums: dgamma, and dbeta where the norm has it
/// Random x, dy [rows][cols] and gamma; mean and rstd of x as the double-precision reference has them. dx is verified
/// on at most 64 rows, spread over the batch, and dgamma and dbeta on every column of a small matrix and on at most 32
/// of a large one, over all rows; everything is looked at for poison.
std::unique_ptr<Workload> make_workload(NormBackwardLauncher launcher, std::int64_t rows, std::int64_t cols,
                                        Gradients gradients = Gradients::all);

}  // namespace benchmarking
