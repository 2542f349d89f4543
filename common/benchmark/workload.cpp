#include <benchmark/byte_model.h>
#include <benchmark/workload.h>
#include <host/device_buffer.h>
#include <testing/random.h>
#include <testing/run.h>

#include <algorithm>
#include <cstring>
#include <memory>
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

/// x of every workload with this many elements. The last one is kept: making and uploading a gigabyte takes longer than
/// all launches of a measurement.
struct Input {
  std::vector<float> values;
  DeviceBuffer<float> buffer;
};
std::shared_ptr<const Input> input_of(std::int64_t count) {
  static std::shared_ptr<const Input> last;
  if (last == nullptr || last->buffer.size() != count) {
    last.reset();  // before the next is made: there may be no room for both
    // Mean 1: a kernel that forgets to subtract it is caught.
    std::vector<float> values = random_values(count, -1, 3, 1);
    DeviceBuffer<float> buffer("x", values);
    last.reset(new Input{std::move(values), std::move(buffer)});
  }
  return last;
}

/// Empty if no element of values is poison.
std::string unwritten(const std::string& name, const std::vector<float>& values) {
  const auto hit = std::find_if(values.begin(), values.end(), DeviceBuffer<float>::is_poison);
  if (hit == values.end()) return {};
  return "Element " + std::to_string(hit - values.begin()) + " of " + name + " was not written. ";
}

class CopyWorkload : public Workload {
public:
  CopyWorkload(CopyLauncher launcher, std::int64_t count) : launcher_(launcher), x_(input_of(count)), y_("y", count) {
    args_ = {.x = x_->buffer.data(), .y = y_.data(), .count = count};
  }

  void launch() override { launcher_(args_, nullptr); }
  void poison() override { y_.poison(); }
  std::string verify() const override {
    y_.check_guards();
    const std::vector<float> y = y_.download();
    const std::vector<float>& x = x_->values;
    if (std::memcmp(y.data(), x.data(), sizeof(float) * y.size()) == 0) return {};
    const auto [got, expected] = std::mismatch(y.begin(), y.end(), x.begin());
    return "y[" + std::to_string(got - y.begin()) + "] is " + std::to_string(*got) + "; x there is " +
           std::to_string(*expected) + ".";
  }
  std::int64_t least_bytes() const override { return benchmarking::least_bytes(args_); }
  const float* x() const override { return args_.x; }
  std::int64_t elements() const override { return args_.count; }

private:
  CopyLauncher launcher_;
  std::shared_ptr<const Input> x_;
  DeviceBuffer<float> y_;
  CopyArgs args_;
};

class NormWorkload : public Workload {
public:
  NormWorkload(NormLauncher launcher, std::int64_t rows, std::int64_t cols)
      : launcher_(launcher),
        gamma_values_(random_values(cols, 0.5, 1.5, 2)),
        beta_values_(random_values(cols, -1, 1, 3)),
        x_(input_of(rows * cols)),
        gamma_("gamma", gamma_values_),
        beta_("beta", beta_values_),
        y_("y", rows * cols),
        mean_("mean", rows),
        rstd_("rstd", rows) {
    args_ = {.x = x_->buffer.data(),
             .gamma = gamma_.data(),
             .beta = beta_.data(),
             .y = y_.data(),
             .mean = mean_.data(),
             .rstd = rstd_.data(),
             .rows = rows,
             .cols = cols};
    if (launcher.norm() == Norm::rms_norm) args_.beta = args_.mean = nullptr;
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
  NormLauncher launcher_;
  std::vector<float> gamma_values_, beta_values_;
  std::shared_ptr<const Input> x_;
  DeviceBuffer<float> gamma_, beta_, y_, mean_, rstd_;
  LayerNormArgs args_;
};

std::string NormWorkload::verify() const {
  for (const auto* buffer : {&y_, &mean_, &rstd_}) buffer->check_guards();
  const std::vector<float> y = y_.download(), mean = mean_.download(), rstd = rstd_.download();
  const bool has_mean = args_.mean != nullptr;
  std::string wrong = unwritten("y", y) + (has_mean ? unwritten("mean", mean) : "") + unwritten("rstd", rstd);
  if (!wrong.empty()) return wrong;

  const std::int64_t cols = args_.cols;
  const std::int64_t sampled = std::min<std::int64_t>(args_.rows, 64);
  testing::NormCase sample{.name = "sampled rows",
                           .rows = sampled,
                           .cols = cols,
                           .x = {},
                           .gamma = gamma_values_,
                           .beta = beta_values_,
                           .eps = args_.eps};
  testing::NormResult written;
  for (std::int64_t i = 0; i < sampled; ++i) {
    const std::int64_t row =
        sampled == 1 ? 0 : i * (args_.rows - 1) / (sampled - 1);  // the first and the last are among them
    const auto first = row * cols, last = first + cols;
    sample.x.insert(sample.x.end(), x_->values.begin() + first, x_->values.begin() + last);
    written.y.insert(written.y.end(), y.begin() + first, y.begin() + last);
    if (has_mean) written.mean.push_back(mean[static_cast<std::size_t>(row)]);
    written.rstd.push_back(rstd[static_cast<std::size_t>(row)]);
  }

  // The widest bound, that of one thread adding up the row: the tests judge how exact a kernel is, this only that it
  // did its work.
  const testing::NormVerdict verdict = testing::judge(written, sample, testing::thread_per_row(cols), launcher_.norm());
  return verdict.passed() ? "" : verdict.text();
}

}  // namespace

std::unique_ptr<Workload> make_workload(CopyLauncher launcher, std::int64_t count) {
  return std::make_unique<CopyWorkload>(launcher, count);
}

std::unique_ptr<Workload> make_workload(NormLauncher launcher, std::int64_t rows, std::int64_t cols) {
  return std::make_unique<NormWorkload>(launcher, rows, cols);
}

}  // namespace benchmarking
