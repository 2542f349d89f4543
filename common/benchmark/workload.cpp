#include <benchmark/byte_model.h>
#include <benchmark/workload.h>
#include <host/device_buffer.h>
#include <testing/compare.h>
#include <testing/random.h>
#include <testing/reference.h>
#include <testing/tolerance.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace benchmarking {
namespace {

std::vector<float> random_values(std::int64_t count, double low, double high, std::uint64_t seed) {
  testing::Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.uniform(low, high));
  return values;
}

/// Empty if no element of values is poison.
std::string unwritten(const std::string& name, const std::vector<float>& values) {
  const auto hit = std::find_if(values.begin(), values.end(), DeviceBuffer<float>::is_poison);
  if (hit == values.end()) return {};
  return "Element " + std::to_string(hit - values.begin()) + " of " + name + " was not written. ";
}

class CopyWorkload : public Workload {
public:
  CopyWorkload(CopyLauncher launcher, std::int64_t count)
      : launcher_(launcher), x_values_(random_values(count, -1, 1, 1)), x_("x", x_values_), y_("y", count) {
    args_ = {.x = x_.data(), .y = y_.data(), .count = count};
  }

  void launch() override { launcher_(args_, nullptr); }
  void poison() override { y_.poison(); }
  std::string verify() const override {
    y_.check_guards();
    const std::vector<float> y = y_.download();
    if (std::memcmp(y.data(), x_values_.data(), sizeof(float) * y.size()) == 0) return {};
    const auto [got, expected] = std::mismatch(y.begin(), y.end(), x_values_.begin());
    return "y[" + std::to_string(got - y.begin()) + "] is " + std::to_string(*got) + "; x there is " +
           std::to_string(*expected) + ".";
  }
  std::int64_t least_bytes() const override { return benchmarking::least_bytes(args_); }
  const float* x() const override { return args_.x; }
  std::int64_t elements() const override { return args_.count; }

private:
  CopyLauncher launcher_;
  std::vector<float> x_values_;
  DeviceBuffer<float> x_, y_;
  CopyArgs args_;
};

class LayerNormWorkload : public Workload {
public:
  LayerNormWorkload(LayerNormLauncher launcher, std::int64_t rows, std::int64_t cols)
      : launcher_(launcher),
        x_values_(random_values(rows * cols, -1, 3, 1)),  // mean 1: a kernel that forgets to subtract it is caught
        gamma_values_(random_values(cols, 0.5, 1.5, 2)),
        beta_values_(random_values(cols, -1, 1, 3)),
        x_("x", x_values_),
        gamma_("gamma", gamma_values_),
        beta_("beta", beta_values_),
        y_("y", rows * cols),
        mean_("mean", rows),
        rstd_("rstd", rows) {
    args_ = {.x = x_.data(),
             .gamma = gamma_.data(),
             .beta = beta_.data(),
             .y = y_.data(),
             .mean = mean_.data(),
             .rstd = rstd_.data(),
             .rows = rows,
             .cols = cols};
  }

  void launch() override { launcher_(args_, nullptr); }
  void poison() override {
    y_.poison();
    mean_.poison();
    rstd_.poison();
  }
  std::string verify() const override;
  std::int64_t least_bytes() const override { return benchmarking::least_bytes(args_); }
  const float* x() const override { return args_.x; }
  std::int64_t elements() const override { return args_.rows * args_.cols; }

private:
  LayerNormLauncher launcher_;
  std::vector<float> x_values_, gamma_values_, beta_values_;
  DeviceBuffer<float> x_, gamma_, beta_, y_, mean_, rstd_;
  LayerNormArgs args_;
};

std::string LayerNormWorkload::verify() const {
  for (const auto* buffer : {&y_, &mean_, &rstd_}) buffer->check_guards();
  const std::vector<float> y = y_.download(), mean = mean_.download(), rstd = rstd_.download();
  std::string wrong = unwritten("y", y) + unwritten("mean", mean) + unwritten("rstd", rstd);
  if (!wrong.empty()) return wrong;

  const std::int64_t cols = args_.cols;
  const std::int64_t sampled = std::min<std::int64_t>(args_.rows, 64);
  testing::LayerNormCase sample{.name = "sampled rows",
                                .rows = sampled,
                                .cols = cols,
                                .x = {},
                                .gamma = gamma_values_,
                                .beta = beta_values_,
                                .eps = args_.eps};
  std::vector<float> sample_y, sample_mean, sample_rstd;
  for (std::int64_t i = 0; i < sampled; ++i) {
    const std::int64_t row =
        sampled == 1 ? 0 : i * (args_.rows - 1) / (sampled - 1);  // the first and the last are among them
    const auto first = row * cols, last = first + cols;
    sample.x.insert(sample.x.end(), x_values_.begin() + first, x_values_.begin() + last);
    sample_y.insert(sample_y.end(), y.begin() + first, y.begin() + last);
    sample_mean.push_back(mean[static_cast<std::size_t>(row)]);
    sample_rstd.push_back(rstd[static_cast<std::size_t>(row)]);
  }

  const auto reference =
      testing::layer_norm_reference(sample.x, sample.gamma, sample.beta, sample.rows, sample.cols, sample.eps);
  // The widest bound, that of one thread adding up the row: the tests judge how exact a kernel is, this only that it
  // did its work.
  const auto tolerance = testing::layer_norm_tolerance(sample, reference, testing::thread_per_row(cols));
  for (const auto& comparison : {testing::compare("y", sample_y, reference.y, tolerance.y, cols),
                                 testing::compare("mean", sample_mean, reference.mean, tolerance.mean, 1),
                                 testing::compare("rstd", sample_rstd, reference.rstd, tolerance.rstd, 1)}) {
    if (!comparison.passed()) wrong += comparison.text();
  }
  return wrong;
}

}  // namespace

std::unique_ptr<Workload> make_workload(CopyLauncher launcher, std::int64_t count) {
  return std::make_unique<CopyWorkload>(launcher, count);
}

std::unique_ptr<Workload> make_workload(LayerNormLauncher launcher, std::int64_t rows, std::int64_t cols) {
  return std::make_unique<LayerNormWorkload>(launcher, rows, cols);
}

}  // namespace benchmarking
