#include <benchmark/byte_model.h>
#include <benchmark/workload.h>
#include <host/device_buffer.h>
#include <testing/backward.h>
#include <testing/random.h>
#include <testing/reference.h>
#include <testing/run.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#ifdef LNH_CUDA
#include <benchmark/device_timer.h>
#endif

namespace benchmarking {
namespace {

std::vector<float> random_values(std::int64_t count, double low, double high, std::uint64_t seed) {
  testing::Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.uniform(low, high));
  return values;
}

/// make() for the first that asks with this key; it is kept for the others. A gigabyte takes longer to be made,
/// uploaded and read in double precision than all launches of a measurement take, and every kernel is measured on the
/// same sizes.
template <class Key, class Value, class Make>
const Value& kept(std::map<Key, Value>& known, const Key& key, const Make& make) {
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, make()).first->second;
}

/// A matrix here and on the device.
struct Input {
  std::vector<float> values;
  DeviceBuffer<float> buffer;

  Input(const char* name, std::vector<float> all) : values(std::move(all)), buffer(name, values) {}
};

/// The first elements of an input.
struct InputView {
  std::span<const float> values;
  const float* data;  // on the device
};

/// The first `count` elements of an input that is kept; make(n) makes one of n elements. On a GPU all sizes of a grid
/// are a little less than its largest, so one of a full gigabyte serves them all; on the executor each has its own,
/// whose end is the end of what a kernel may touch.
template <class Make>
InputView first_of(std::map<std::int64_t, Input>& known, std::int64_t count, const Make& make) {
#ifdef LNH_CUDA
  auto found = known.lower_bound(count);
#else
  auto found = known.find(count);
#endif
  if (found == known.end()) found = known.emplace(count, make(count)).first;
  const Input& input = found->second;
  return {std::span(input.values).first(static_cast<std::size_t>(count)), input.buffer.data()};
}

/// x of every workload with this many elements.
InputView x_of(std::int64_t count) {
  static std::map<std::int64_t, Input> known;
  // Mean 1: a kernel that forgets to subtract it is caught.
  return first_of(known, count, [](std::int64_t n) { return Input("x", random_values(n, -1, 3, 1)); });
}

/// dy of every backward with this many elements.
InputView dy_of(std::int64_t count) {
  static std::map<std::int64_t, Input> known;
  return first_of(known, count, [](std::int64_t n) {
    // Mean 0.25, and leaning towards x: Σdy and Σdy·x̂ over the rows grow as their number does, and stand out from the
    // bound, which grows so too.
    std::vector<float> values = random_values(n, -1.25, 0.75, 4);
    const std::span<const float> x = x_of(n).values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.5f * x[i];
    return Input("dy", std::move(values));
  });
}

using Rows = std::pair<std::int64_t, std::int64_t>;  // rows, cols

/// Of each row of x.
const std::vector<testing::Moments>& moments_of(const Rows& size) {
  static std::map<Rows, std::vector<testing::Moments>> known;
  return kept(known, size, [&] {
    const auto [rows, cols] = size;
    const std::span<const float> x = x_of(rows * cols).values;
    const auto width = static_cast<std::size_t>(cols);
    std::vector<testing::Moments> moments(static_cast<std::size_t>(rows));
    // A gigabyte in double precision: by all cores.
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::jthread> workers;
    for (std::size_t core = 0; core < cores; ++core) {
      workers.emplace_back([&, core] {
        for (std::size_t row = core; row < moments.size(); row += cores)
          moments[row] = testing::moments(x.subspan(row * width, width));
      });
    }
    workers.clear();  // waits for them
    return moments;
  });
}

/// `sampled` numbers from 0 to count − 1; the first and the last are among them.
std::vector<std::int64_t> spread(std::int64_t count, std::int64_t sampled) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < sampled; ++i) places.push_back(sampled == 1 ? 0 : i * (count - 1) / (sampled - 1));
  return places;
}

/// The rows of a matrix that are compared: at most 64, and about a million elements.
std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t cols) {
  return spread(rows, std::min(rows, std::clamp<std::int64_t>((1 << 20) / cols, 2, 64)));
}

/// Empty if no element of the buffer is poison.
std::string unwritten(const DeviceBuffer<float>& buffer) {
#ifdef LNH_CUDA
  const std::int64_t first = first_poison(buffer);
#else
  const std::vector<float> values = buffer.download();
  const std::int64_t first =
      std::find_if(values.begin(), values.end(), DeviceBuffer<float>::is_poison) - values.begin();
#endif
  if (first == buffer.size()) return {};
  return "Element " + std::to_string(first) + " of " + buffer.name() + " was not written. ";
}

/// The elements of these rows, one row behind the other.
std::vector<float> rows_of(const DeviceBuffer<float>& buffer, const std::vector<std::int64_t>& rows,
                           std::int64_t cols) {
  std::vector<float> values;
  for (const std::int64_t row : rows) {
    const std::vector<float> one = buffer.download(row * cols, cols);
    values.insert(values.end(), one.begin(), one.end());
  }
  return values;
}

class CopyWorkload : public Workload {
public:
  CopyWorkload(CopyLauncher launcher, std::int64_t count) : launcher_(launcher), x_(x_of(count)), y_("y", count) {
    args_ = {.x = x_.data, .y = y_.data(), .count = count};
  }

  void launch() override { launcher_(args_, nullptr); }
  void poison() override { y_.poison(); }
  std::string verify() const override {
    y_.check_guards();
    const std::vector<float> y = y_.download();
    const std::span<const float> x = x_.values;
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
  const InputView x_;
  DeviceBuffer<float> y_;
  CopyArgs args_;
};

class NormWorkload : public Workload {
public:
  NormWorkload(NormLauncher launcher, std::int64_t rows, std::int64_t cols)
      : launcher_(launcher),
        gamma_values_(random_values(cols, 0.5, 1.5, 2)),
        beta_values_(random_values(cols, -1, 1, 3)),
        x_(x_of(rows * cols)),
        gamma_("gamma", gamma_values_),
        beta_("beta", beta_values_),
        y_("y", rows * cols),
        mean_("mean", rows),
        rstd_("rstd", rows) {
    args_ = {.x = x_.data,
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
  const InputView x_;
  DeviceBuffer<float> gamma_, beta_, y_, mean_, rstd_;
  LayerNormArgs args_;
};

std::string NormWorkload::verify() const {
  for (const auto* buffer : {&y_, &mean_, &rstd_}) buffer->check_guards();
  const bool has_mean = args_.mean != nullptr;
  std::string wrong = unwritten(y_) + (has_mean ? unwritten(mean_) : "") + unwritten(rstd_);
  if (!wrong.empty()) return wrong;

  const std::int64_t cols = args_.cols;
  const std::vector<std::int64_t> rows = sampled_rows(args_.rows, cols);
  testing::NormCase sample{.name = "sampled rows",
                           .rows = static_cast<std::int64_t>(rows.size()),
                           .cols = cols,
                           .x = {},
                           .gamma = gamma_values_,
                           .beta = beta_values_,
                           .eps = args_.eps};
  const std::vector<float> mean = mean_.download(), rstd = rstd_.download();
  testing::NormResult written{.y = rows_of(y_, rows, cols), .mean = {}, .rstd = {}};
  for (const std::int64_t row : rows) {
    const auto first = row * cols, last = first + cols;
    sample.x.insert(sample.x.end(), x_.values.begin() + first, x_.values.begin() + last);
    if (has_mean) written.mean.push_back(mean[static_cast<std::size_t>(row)]);
    written.rstd.push_back(rstd[static_cast<std::size_t>(row)]);
  }

  // The widest bound, that of one thread adding up the row: the tests judge how exact a kernel is, this only that it
  // did its work.
  const testing::NormVerdict verdict = testing::judge(written, sample, testing::thread_per_row(cols), launcher_.norm());
  return verdict.passed() ? "" : verdict.text();
}

/// What the backwards of one size are given beside x and dy, and what they must write where it is looked at.
struct BackwardTruth {
  std::vector<float> gamma, mean, rstd;  // mean: empty for RMSNorm
  std::vector<std::int64_t> rows;        // on which dx is looked at
  std::vector<std::int64_t> columns;     // on which dgamma and dbeta are
  testing::BackwardReference reference;  // dx of those rows; dgamma and dbeta of those columns
  testing::BackwardTolerance tolerance;  // the same
};

BackwardTruth make_truth(Norm norm, std::int64_t rows, std::int64_t cols) {
  const std::span<const float> x = x_of(rows * cols).values, dy = dy_of(rows * cols).values;
  BackwardTruth truth;
  truth.gamma = random_values(cols, 0.5, 1.5, 2);
  for (const testing::Moments& row : moments_of({rows, cols})) {
    const bool centred = norm == Norm::layer_norm;
    const double about = row.variance + (centred ? 0 : row.mean * row.mean);
    if (centred) truth.mean.push_back(static_cast<float>(row.mean));
    truth.rstd.push_back(static_cast<float>(1 / std::sqrt(about + 1e-5)));
  }

  // The widest bounds, those of one thread adding up the row or the column: the tests judge how exact a kernel is, this
  // only that it did its work.
  const testing::BackwardSummation widest{testing::thread_per_row(cols), testing::thread_per_row(rows)};

  // A row's dx depends on nothing beyond the row.
  truth.rows = sampled_rows(rows, cols);
  testing::BackwardCase of_rows{.norm = norm, .forward = {}, .mean = {}, .rstd = {}, .dy = {}};
  of_rows.forward.rows = static_cast<std::int64_t>(truth.rows.size());
  of_rows.forward.cols = cols;
  of_rows.forward.gamma = truth.gamma;
  for (const std::int64_t row : truth.rows) {
    const auto first = row * cols, last = first + cols;
    of_rows.forward.x.insert(of_rows.forward.x.end(), x.begin() + first, x.begin() + last);
    of_rows.dy.insert(of_rows.dy.end(), dy.begin() + first, dy.begin() + last);
    if (norm == Norm::layer_norm) of_rows.mean.push_back(truth.mean[static_cast<std::size_t>(row)]);
    of_rows.rstd.push_back(truth.rstd[static_cast<std::size_t>(row)]);
  }
  truth.reference.dx = testing::norm_backward_reference(of_rows).dx;
  truth.tolerance.dx = testing::norm_backward_tolerance(of_rows, widest).dx;

  // With mean and rstd given, a column's sums depend on nothing beyond the column.
  const std::int64_t most = std::clamp<std::int64_t>((1 << 23) / rows, 2, 32);
  truth.columns = spread(cols, rows * cols <= 1 << 20 ? cols : std::min(cols, most));
  testing::BackwardCase of_columns{.norm = norm, .forward = {}, .mean = truth.mean, .rstd = truth.rstd, .dy = {}};
  of_columns.forward.rows = rows;
  of_columns.forward.cols = static_cast<std::int64_t>(truth.columns.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const std::int64_t column : truth.columns) {
      const auto i = static_cast<std::size_t>(row * cols + column);
      of_columns.forward.x.push_back(x[i]);
      of_columns.dy.push_back(dy[i]);
    }
  }
  testing::BackwardReference sums = testing::norm_backward_reference(of_columns);
  testing::BackwardTolerance bounds = testing::norm_backward_tolerance(of_columns, widest);
  truth.reference.dgamma = std::move(sums.dgamma);
  truth.reference.dbeta = std::move(sums.dbeta);
  truth.tolerance.dgamma = std::move(bounds.dgamma);
  truth.tolerance.dbeta = std::move(bounds.dbeta);
  return truth;
}

const BackwardTruth& truth_of(Norm norm, std::int64_t rows, std::int64_t cols) {
  static std::map<std::pair<Norm, Rows>, BackwardTruth> known;
  return kept(known, std::pair(norm, Rows(rows, cols)), [=] { return make_truth(norm, rows, cols); });
}

class BackwardWorkload : public Workload {
public:
  BackwardWorkload(NormBackwardLauncher launcher, std::int64_t rows, std::int64_t cols, Gradients gradients)
      : launcher_(launcher),
        truth_(truth_of(launcher.norm(), rows, cols)),
        x_(x_of(rows * cols)),
        dy_(dy_of(rows * cols)),
        gamma_("gamma", truth_.gamma),
        mean_("mean", truth_.mean),
        rstd_("rstd", truth_.rstd),
        dx_("dx", gradients == Gradients::sums ? 0 : rows * cols),
        dgamma_("dgamma", cols),
        dbeta_("dbeta", cols),
        workspace_("workspace", gradients == Gradients::dx ? 0 : workspace_floats(rows, cols)) {
    args_.x = x_.data;
    args_.gamma = gamma_.data();
    args_.rstd = rstd_.data();
    args_.dy = dy_.data;
    args_.rows = rows;
    args_.cols = cols;
    if (launcher.norm() == Norm::layer_norm) args_.mean = mean_.data();
    if (gradients != Gradients::sums) args_.dx = dx_.data();
    if (gradients == Gradients::dx) return;
    args_.dgamma = dgamma_.data();
    args_.workspace = workspace_.data();
    if (launcher.norm() == Norm::layer_norm) args_.dbeta = dbeta_.data();
  }

  void launch() override { launcher_(args_, nullptr); }
  void poison() override {
    for (auto* buffer : {&dx_, &dgamma_, &dbeta_, &workspace_}) buffer->poison();
  }
  std::string verify() const override;
  std::int64_t least_bytes() const override { return benchmarking::least_bytes(args_); }
  const float* x() const override { return args_.x; }
  std::int64_t elements() const override { return args_.rows * args_.cols; }

private:
  NormBackwardLauncher launcher_;
  const BackwardTruth& truth_;
  const InputView x_, dy_;
  DeviceBuffer<float> gamma_, mean_, rstd_, dx_, dgamma_, dbeta_, workspace_;
  LayerNormBackwardArgs args_;
};

std::string BackwardWorkload::verify() const {
  for (const auto* buffer : {&dx_, &dgamma_, &dbeta_, &workspace_}) buffer->check_guards();
  std::string wrong;
  // looked_at fetches those elements that the truth knows.
  const auto judge = [&](const DeviceBuffer<float>& buffer, const auto& looked_at, std::span<const double> expected,
                         std::span<const double> bound, std::int64_t cols) {
    const std::string missing = unwritten(buffer);
    if (missing.empty()) {
      const testing::Comparison comparison =
          testing::compare("a sample of " + buffer.name(), looked_at(buffer), expected, bound, cols);
      if (!comparison.passed()) wrong += comparison.text() + " ";
    }
    wrong += missing;
  };
  const auto on_rows = [this](const DeviceBuffer<float>& dx) { return rows_of(dx, truth_.rows, args_.cols); };
  const auto on_columns = [this](const DeviceBuffer<float>& sums) {
    const std::vector<float> all = sums.download();
    std::vector<float> values;
    for (const std::int64_t column : truth_.columns) values.push_back(all[static_cast<std::size_t>(column)]);
    return values;
  };
  const testing::BackwardReference& expected = truth_.reference;
  const testing::BackwardTolerance& bound = truth_.tolerance;
  const auto columns = static_cast<std::int64_t>(truth_.columns.size());
  if (args_.dx != nullptr) judge(dx_, on_rows, expected.dx, bound.dx, args_.cols);
  if (args_.dgamma != nullptr) judge(dgamma_, on_columns, expected.dgamma, bound.dgamma, columns);
  if (args_.dbeta != nullptr) judge(dbeta_, on_columns, expected.dbeta, bound.dbeta, columns);
  return wrong;
}

}  // namespace

std::unique_ptr<Workload> make_workload(CopyLauncher launcher, std::int64_t count) {
  return std::make_unique<CopyWorkload>(launcher, count);
}

std::unique_ptr<Workload> make_workload(NormLauncher launcher, std::int64_t rows, std::int64_t cols) {
  return std::make_unique<NormWorkload>(launcher, rows, cols);
}

std::unique_ptr<Workload> make_workload(NormBackwardLauncher launcher, std::int64_t rows, std::int64_t cols,
                                        Gradients gradients) {
  return std::make_unique<BackwardWorkload>(launcher, rows, cols, gradients);
}

}  // namespace benchmarking
