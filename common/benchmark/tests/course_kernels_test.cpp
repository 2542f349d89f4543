/// The C interface: every kernel of the list does what its operation says, and errors come back as text.
#include <benchmark/course_kernels.h>
#include <doctest/doctest.h>
#include <host/device_buffer.h>
#include <testing/backward.h>
#include <testing/run.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

/// A few rows, the last lanes of a warp and the last floats of a float4 idle, on which every kernel of the course is
/// right. The widest bounds, those of one thread adding up a row or a column: the chapters' tests judge how exact a
/// kernel is.
constexpr std::int64_t rows = 5, cols = 203;
testing::NormCase small_case() { return testing::make_case(rows, cols, testing::Data::centred, 1); }

bool is(int kernel, const std::string& operation) { return lnh_operation(kernel) == operation; }

Norm norm_of(int kernel) {
  return std::string(lnh_operation(kernel)).starts_with("rms_norm") ? Norm::rms_norm : Norm::layer_norm;
}

int first_of(const std::string& operation) {
  for (int kernel = 0; kernel < lnh_kernels(); ++kernel) {
    if (is(kernel, operation)) return kernel;
  }
  FAIL("the list has no " << operation);
  return -1;
}

std::string text(const char* error) { return error == nullptr ? "" : error; }

}  // namespace

TEST_CASE("the list has the chapters' kernels, each once, and every operation") {
  std::map<std::string, std::string> operations;
  for (int kernel = 0; kernel < lnh_kernels(); ++kernel) {
    CHECK_MESSAGE(operations.emplace(lnh_name(kernel), lnh_operation(kernel)).second, lnh_name(kernel));
  }
  CHECK(operations.at("copy::vectorized") == "copy");
  CHECK(operations.at("three_pass::layer_norm") == "layer_norm");
  CHECK(operations.at("fused_layer_norm::layer_norm") == "layer_norm");
  CHECK(operations.at("rms_norm::rms_norm") == "rms_norm");
  CHECK(operations.at("rms_norm::layer_norm") == "layer_norm");
  CHECK(operations.at("backward::layer_norm") == "layer_norm_backward");
  CHECK(operations.at("backward::rms_norm") == "rms_norm_backward");
  CHECK(text(lnh_name(0)) == "copy::scalar");  // in the chapters' order
  CHECK(text(lnh_toolkit()).starts_with(backend::is_simt ? "the CPU executor" : "CUDA 1"));
}

TEST_CASE("every copy copies") {
  const std::vector<float> values = testing::random_bits(1003, 1);
  const DeviceBuffer<float> x("x", values);
  for (int kernel = 0; kernel < lnh_kernels(); ++kernel) {
    if (!is(kernel, "copy")) continue;
    CAPTURE(lnh_name(kernel));
    const DeviceBuffer<float> y("y", 1003);
    CHECK(text(lnh_copy(kernel, x.data(), y.data(), 1003, nullptr)) == "");
    y.check_guards();
    const std::vector<float> written = y.download();
    CHECK(std::memcmp(written.data(), values.data(), sizeof(float) * 1003) == 0);
  }
}

TEST_CASE("every forward is right, and keeps its statistics") {
  const testing::NormCase input = small_case();
  const DeviceBuffer<float> x("x", input.x), gamma("gamma", input.gamma), beta("beta", input.beta);
  for (int kernel = 0; kernel < lnh_kernels(); ++kernel) {
    if (!is(kernel, "layer_norm") && !is(kernel, "rms_norm")) continue;
    CAPTURE(lnh_name(kernel));
    CHECK(lnh_workspace_floats(kernel, rows, cols) == 0);
    const DeviceBuffer<float> y("y", rows * cols), mean("mean", rows), rstd("rstd", rows);
    CHECK(text(lnh_norm(kernel, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), rstd.data(), rows, cols,
                        input.eps, nullptr)) == "");
    for (const auto* output : {&y, &mean, &rstd}) output->check_guards();
    testing::NormResult result{.y = y.download(), .mean = {}, .rstd = rstd.download()};
    if (norm_of(kernel) == Norm::layer_norm) result.mean = mean.download();
    const testing::NormVerdict verdict = testing::judge(result, input, testing::thread_per_row(cols), norm_of(kernel));
    CHECK_MESSAGE(verdict.passed(), verdict.text());
  }
}

TEST_CASE("every backward is right, with the workspace that it asks for") {
  for (int kernel = 0; kernel < lnh_kernels(); ++kernel) {
    if (!is(kernel, "layer_norm_backward") && !is(kernel, "rms_norm_backward")) continue;
    CAPTURE(lnh_name(kernel));
    const testing::BackwardCase input = testing::make_backward_case(norm_of(kernel), small_case(), 2);
    const bool centred = norm_of(kernel) == Norm::layer_norm;
    const DeviceBuffer<float> x("x", input.forward.x), gamma("gamma", input.forward.gamma), rstd("rstd", input.rstd),
        dy("dy", input.dy), mean("mean", centred ? input.mean : input.rstd), dx("dx", rows * cols),
        dgamma("dgamma", cols), dbeta("dbeta", cols), workspace("workspace", lnh_workspace_floats(kernel, rows, cols));
    CHECK(text(lnh_norm_backward(kernel, x.data(), gamma.data(), mean.data(), rstd.data(), dy.data(), dx.data(),
                                 dgamma.data(), dbeta.data(), workspace.data(), rows, cols, nullptr)) == "");
    for (const auto* output : {&dx, &dgamma, &dbeta, &workspace}) output->check_guards();
    testing::BackwardResult result{.dx = dx.download(), .dgamma = dgamma.download(), .dbeta = {}};
    if (centred) result.dbeta = dbeta.download();
    const testing::BackwardVerdict verdict =
        testing::judge_backward(result, input, {testing::thread_per_row(cols), testing::thread_per_row(rows)});
    CHECK_MESSAGE(verdict.passed(), verdict.text());
  }
}

TEST_CASE("errors come back as text: no such kernel, another kind of kernel, a refused argument") {
  for (const int none : {-1, lnh_kernels()}) {
    CHECK(lnh_name(none) == nullptr);
    CHECK(lnh_operation(none) == nullptr);
    CHECK(lnh_workspace_floats(none, 1, 1) == -1);
    CHECK(text(lnh_copy(none, nullptr, nullptr, 0, nullptr)).starts_with("there is no kernel " + std::to_string(none)));
  }

  const int copy = first_of("copy"), forward = first_of("layer_norm"), backward = first_of("rms_norm_backward");
  const auto norm = [](int kernel, std::int64_t columns) {
    return text(lnh_norm(kernel, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1, columns, 1e-5f, nullptr));
  };
  CHECK(norm(copy, 1) == std::string(lnh_name(copy)) + " is no forward of a norm");
  CHECK(text(lnh_copy(forward, nullptr, nullptr, 1, nullptr)) == std::string(lnh_name(forward)) + " is no copy");
  CHECK(text(lnh_norm_backward(forward, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                               1, 1, nullptr)) == std::string(lnh_name(forward)) + " is no backward of a norm");

  // What the launchers throw: the argument and its value are named, tests/check_test.cpp of host.
  CHECK(text(lnh_copy(copy, nullptr, nullptr, -3, nullptr)).find("count") != std::string::npos);
  CHECK(norm(forward, 0).find("cols") != std::string::npos);
  CHECK(text(lnh_norm_backward(backward, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                               nullptr, 1, 1, nullptr))
            .find("x") != std::string::npos);

  // An error does not stay.
  CHECK(lnh_copy(copy, nullptr, nullptr, 0, nullptr) == nullptr);
}
