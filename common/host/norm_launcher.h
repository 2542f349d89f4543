/// A launcher of LayerNorm or of RMSNorm, for what treats both alike: tests, benchmarks and the tour.
#pragma once

#include <host/layer_norm.h>
#include <host/rms_norm.h>

#include <concepts>
#include <variant>

/// Made from either launcher without a word, so that a function of NormLauncher takes both.
class NormLauncher {
public:
  template <std::convertible_to<LayerNormLauncher> Launcher>
  NormLauncher(Launcher launcher) : launcher_(static_cast<LayerNormLauncher>(launcher)) {}
  template <std::convertible_to<RmsNormLauncher> Launcher>
  NormLauncher(Launcher launcher) : launcher_(static_cast<RmsNormLauncher>(launcher)) {}

  Norm norm() const { return std::holds_alternative<RmsNormLauncher>(launcher_) ? Norm::rms_norm : Norm::layer_norm; }

  /// RMSNorm is given what it takes of the arguments: not beta and not mean.
  void operator()(const LayerNormArgs& args, cudaStream_t stream) const {
    if (const auto* rms_norm = std::get_if<RmsNormLauncher>(&launcher_)) {
      (*rms_norm)(rms_norm_args(args), stream);
    } else {
      std::get<LayerNormLauncher>(launcher_)(args, stream);
    }
  }

private:
  std::variant<LayerNormLauncher, RmsNormLauncher> launcher_;
};
