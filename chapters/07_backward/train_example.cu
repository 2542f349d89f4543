// A small network with a LayerNorm in it learns what another one knows: with this course's kernels in float, and with
// the formulas in double on the host. Both losses fall, and fall alike.
//
//   h = x·V      z = h + LayerNorm(h; gamma, beta)      y = z·W + b      loss = the mean of (y − target)²
//
// A LayerNorm does not notice when a whole row is shifted. z does: so each term of dx counts.
//
//   07_backward_train_example [--json]
//
// Exit code: 0 both learned, and float followed double; 1 not so; 2 wrong use; 77 no GPU.
#include "backward.cuh"

#include <host/device_buffer.h>
#include <testing/backward.h>
#include <testing/example.h>
#include <testing/random.h>
#include <testing/reference.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "../05_fused_layer_norm/fused_layer_norm.cuh"

namespace {

constexpr std::int64_t rows = 64, inputs = 16, cols = 32, outputs = 4;
constexpr float eps = 1e-5f;
constexpr int steps = 300;
constexpr double rate = 0.1;

/// The loss must fall to this part of what it was.
constexpr double enough = 1.0 / 500;
/// Float and double may part by this much of the loss. A gradient is a sum over rows or columns, with a rounding of
/// 2⁻²⁴ for each term; roundings go either way, so of n about √n remain. Steps may add up. A rule of thumb, no proof.
const double tolerance = steps * std::sqrt(rows + cols) * 0x1p-24;

// ---- The linear layers, by their definitions, in either precision

/// out[r][j] = Σ in[r][i] · w[i][j] over i
template <class T>
std::vector<T> product(const std::vector<T>& in, const std::vector<T>& w, std::int64_t width) {
  const auto height = static_cast<std::int64_t>(w.size()) / width;
  std::vector<T> out(static_cast<std::size_t>(rows * width));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) out[r * width + j] += in[r * height + i] * w[i * width + j];
    }
  }
  return out;
}

/// dw[i][j] = Σ in[r][i] · dy[r][j] over r
template <class T>
std::vector<T> gradient_of_weights(const std::vector<T>& in, const std::vector<T>& dy, std::int64_t width) {
  const auto height = static_cast<std::int64_t>(in.size()) / rows;
  std::vector<T> dw(static_cast<std::size_t>(height * width));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) dw[i * width + j] += in[r * height + i] * dy[r * width + j];
    }
  }
  return dw;
}

/// dx[r][i] = Σ dy[r][j] · w[i][j] over j
template <class T>
std::vector<T> gradient_of_inputs(const std::vector<T>& dy, const std::vector<T>& w, std::int64_t width) {
  const auto height = static_cast<std::int64_t>(w.size()) / width;
  std::vector<T> dx(static_cast<std::size_t>(rows * height));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) dx[r * height + i] += dy[r * width + j] * w[i * width + j];
    }
  }
  return dx;
}

template <class T>
std::vector<T> sum(std::vector<T> a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// ---- LayerNorm, forward and backward, in two ways

template <class T>
struct NormGradients {
  std::vector<T> dx, dgamma, dbeta;
};

/// The kernels of chapters 05 and 07.
class KernelNorm {
public:
  std::vector<float> forward(std::span<const float> x, std::span<const float> gamma, std::span<const float> beta) {
    x_.upload(x);
    gamma_.upload(gamma);
    beta_.upload(beta);
    fused_layer_norm::layer_norm({.x = x_.data(),
                                  .gamma = gamma_.data(),
                                  .beta = beta_.data(),
                                  .y = y_.data(),
                                  .mean = mean_.data(),
                                  .rstd = rstd_.data(),
                                  .rows = rows,
                                  .cols = cols,
                                  .eps = eps},
                                 nullptr);
    return y_.download();
  }

  /// Of the last forward.
  NormGradients<float> backward(std::span<const float> dy) {
    dy_.upload(dy);
    backward::layer_norm({.x = x_.data(),
                          .gamma = gamma_.data(),
                          .mean = mean_.data(),
                          .rstd = rstd_.data(),
                          .dy = dy_.data(),
                          .dx = dx_.data(),
                          .dgamma = dgamma_.data(),
                          .dbeta = dbeta_.data(),
                          .workspace = workspace_.data(),
                          .rows = rows,
                          .cols = cols},
                         nullptr);
    return {dx_.download(), dgamma_.download(), dbeta_.download()};
  }

private:
  DeviceBuffer<float> x_{"x", rows*cols}, gamma_{"gamma", cols}, beta_{"beta", cols}, y_{"y", rows*cols},
      mean_{"mean", rows}, rstd_{"rstd", rows}, dy_{"dy", rows*cols}, dx_{"dx", rows*cols}, dgamma_{"dgamma", cols},
      dbeta_{"dbeta", cols}, workspace_{"workspace", workspace_floats(rows, cols)};
};

/// The formulas in double precision.
class ReferenceNorm {
public:
  std::vector<double> forward(const std::vector<double>& x, const std::vector<double>& gamma,
                              const std::vector<double>& beta) {
    x_ = x, gamma_ = gamma;
    mean_.clear(), rstd_.clear();
    std::vector<double> y;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::span<const double> row(x.data() + r * cols, cols);
      const testing::Moments moments = testing::moments(row);
      mean_.push_back(moments.mean);
      rstd_.push_back(1 / std::sqrt(moments.variance + eps));
      for (std::int64_t c = 0; c < cols; ++c) y.push_back((row[c] - mean_[r]) * rstd_[r] * gamma[c] + beta[c]);
    }
    return y;
  }

  NormGradients<double> backward(const std::vector<double>& dy) {
    testing::BackwardReference gradients = testing::norm_backward_reference(x_, gamma_, mean_, rstd_, dy, rows, cols);
    return {gradients.dx, gradients.dgamma, gradients.dbeta};
  }

private:
  std::vector<double> x_, gamma_, mean_, rstd_;
};

// ---- The network

template <class T>
struct Network {
  std::vector<T> v, gamma, beta, w, b;
};

/// Weights from N(mean, 1/fan_in), representable as floats.
std::vector<double> random_weights(testing::Random& random, std::int64_t count, std::int64_t fan_in, double mean = 0) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < count; ++i)
    weights.push_back(static_cast<float>(mean + random.normal() / std::sqrt(static_cast<double>(fan_in))));
  return weights;
}

Network<double> teacher(testing::Random& random) {
  return {random_weights(random, inputs * cols, inputs), random_weights(random, cols, 4, 1),
          random_weights(random, cols, 4), random_weights(random, cols * outputs, cols),
          random_weights(random, outputs, 1)};
}

/// As networks begin: gamma 1, beta 0.
Network<double> beginner(testing::Random& random) {
  return {random_weights(random, inputs * cols, inputs), std::vector<double>(cols, 1), std::vector<double>(cols, 0),
          random_weights(random, cols * outputs, cols), std::vector<double>(outputs, 0)};
}

template <class T>
std::vector<T> as(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

template <class T, class LayerNorm>
struct Pass {
  std::vector<T> z, y;

  Pass(const Network<T>& network, LayerNorm& layer_norm, const std::vector<T>& x) {
    const std::vector<T> h = product(x, network.v, cols);
    z = sum(h, layer_norm.forward(h, network.gamma, network.beta));
    y = product(z, network.w, outputs);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += network.b[i % outputs];
  }
};

template <class T>
void descend(std::vector<T>& weights, const std::vector<T>& gradient) {
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= static_cast<T>(rate) * gradient[i];
}

/// The loss before each step, and after the last.
template <class T, class LayerNorm>
std::vector<double> train(const Network<double>& start, const std::vector<double>& all_x,
                          const std::vector<double>& target) {
  const std::vector<T> x = as<T>(all_x);
  Network<T> network{as<T>(start.v), as<T>(start.gamma), as<T>(start.beta), as<T>(start.w), as<T>(start.b)};
  LayerNorm layer_norm;
  std::vector<double> losses;
  for (int step = 0;; ++step) {
    const Pass<T, LayerNorm> pass(network, layer_norm, x);
    const auto count = static_cast<double>(pass.y.size());
    double loss = 0;
    std::vector<T> dy, db(outputs);
    for (std::size_t i = 0; i < pass.y.size(); ++i) {
      const T miss = pass.y[i] - static_cast<T>(target[i]);
      loss += double{miss} * double{miss} / count;
      dy.push_back(static_cast<T>(2 / count) * miss);
      db[i % outputs] += dy.back();
    }
    losses.push_back(loss);
    if (step == steps) return losses;

    const std::vector<T> dw = gradient_of_weights(pass.z, dy, outputs);
    const std::vector<T> dz = gradient_of_inputs(dy, network.w, outputs);
    const NormGradients<T> norm = layer_norm.backward(dz);
    const std::vector<T> dv = gradient_of_weights(x, sum(dz, norm.dx), cols);
    descend(network.v, dv);
    descend(network.gamma, norm.dgamma);
    descend(network.beta, norm.dbeta);
    descend(network.w, dw);
    descend(network.b, db);
  }
}

// ---- What is said about it

struct Curves {
  std::vector<double> in_float, in_double;

  /// |float − double| ÷ double
  double difference(int step) const { return std::abs(in_float[step] - in_double[step]) / in_double[step]; }
  double largest_difference() const {
    double largest = 0;
    for (int step = 0; step <= steps; ++step) {
      if (std::isnan(difference(step))) return difference(step);
      largest = std::max(largest, difference(step));
    }
    return largest;
  }
};

void print_json(const Curves& curves) {
  std::printf("{\n \"rows\": %d,\n \"cols\": %d,\n \"tolerance\": %.3e,\n \"points\": [", static_cast<int>(rows),
              static_cast<int>(cols), tolerance);
  for (int step = 0; step <= steps; step += 5) {
    std::printf("%s\n  {\"step\": %d, \"float\": %.3e, \"double\": %.3e, \"difference\": %.3e}", step == 0 ? "" : ",",
                step, curves.in_float[step], curves.in_double[step], curves.difference(step));
  }
  std::printf("\n ]\n}\n");
}

void print_table(const Curves& curves) {
  std::printf("%d rows, a LayerNorm over %d columns, %d steps of gradient descent\n\n"
              "  step    loss in float    loss in double    difference\n",
              static_cast<int>(rows), static_cast<int>(cols), steps);
  for (const int step : {0, 1, 2, 5, 10, 20, 50, 100, 200, steps}) {
    std::printf("%6d%17.6g%18.6g%14.1e\n", step, curves.in_float[step], curves.in_double[step],
                curves.difference(step));
  }
  std::printf("\n  difference   |float − double| ÷ double; at most %.1e on the way, and %.1e is allowed\n",
              curves.largest_difference(), tolerance);
}

}  // namespace

int example(const std::vector<std::string>& arguments) {
  const bool json = arguments == std::vector<std::string>{"--json"};
  if (!arguments.empty() && !json) {
    std::fprintf(stderr, "Write: 07_backward_train_example [--json]\n");
    return 2;
  }
  testing::Random random(7);
  const std::vector<double> x = random_weights(random, rows * inputs, 1);
  ReferenceNorm layer_norm;
  const std::vector<double> target = Pass<double, ReferenceNorm>(teacher(random), layer_norm, x).y;
  const Network<double> start = beginner(random);
  const Curves curves{train<float, KernelNorm>(start, x, target), train<double, ReferenceNorm>(start, x, target)};

  json ? print_json(curves) : print_table(curves);
  const bool learned = curves.in_float.back() <= enough * curves.in_float.front() &&
                       curves.in_double.back() <= enough * curves.in_double.front();
  if (!learned) std::fprintf(stderr, "The loss has not fallen to %g of what it was.\n", enough);
  const bool followed = curves.largest_difference() <= tolerance;  // a NaN never is
  if (!followed) std::fprintf(stderr, "Float did not follow double.\n");
  return learned && followed ? 0 : 1;
}
