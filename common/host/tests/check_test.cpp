// What the launchers' argument checks accept, refuse and say.
#include <host/copy.h>
#include <host/layer_norm.h>
#include <host/norm_backward.h>
#include <host/rms_norm.h>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// Places in host memory that are too far apart for anything to overlap, whatever the memory's layout.
class Places {
public:
  float* next() { return memory_.data() + 100 * used_++; }

private:
  std::vector<float> memory_ = std::vector<float>(1000);
  std::size_t used_ = 0;
};

// Nothing here is launched, so host memory will do for addresses.
struct Memory {
  Places places;
  float *x = places.next(), *y = places.next(), *gamma = places.next(), *beta = places.next(), *mean = places.next(),
        *rstd = places.next();
  LayerNormArgs args() {
    return {.x = x, .gamma = gamma, .beta = beta, .y = y, .mean = mean, .rstd = rstd, .rows = 3, .cols = 4};
  }
};

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

/// The message, without the launcher's name and place, that the arguments get after this change.
std::string refusal(const std::function<void(LayerNormArgs&)>& change, InPlace in_place = InPlace::refused) {
  Memory memory;
  LayerNormArgs args = memory.args();
  change(args);
  const std::string message = message_of([&] { check(args, in_place); });
  const auto place_end = message.find("): ");
  return place_end == std::string::npos ? message : message.substr(place_end + 3);
}

bool starts_with(const std::string& text, const char* start) { return text.starts_with(start); }
bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("good arguments pass") {
  CHECK(refusal([](LayerNormArgs&) {}) == "accepted");
  CHECK(refusal([](LayerNormArgs& args) { args.gamma = args.beta = nullptr; }) == "accepted");
  CHECK(refusal([](LayerNormArgs& args) { args.mean = args.rstd = nullptr; }) == "accepted");
  CHECK(refusal([](LayerNormArgs& args) { args.eps = 0; }) == "accepted");
  CHECK(refusal([](LayerNormArgs& args) { args.beta = args.gamma; }) == "accepted");  // two inputs may share memory
}

TEST_CASE("a message names the launcher that called check(), its file and line") {
  struct three_pass {
    static void layer_norm(const LayerNormArgs& args) { check(args, InPlace::allowed); }
  };
  const std::string line = std::to_string(__LINE__ - 2);
  CHECK(message_of([] { three_pass::layer_norm({}); }) ==
        "layer_norm (check_test.cpp:" + line + "): cols is 0; it must be at least 1");
}

TEST_CASE("sizes and eps out of range are refused with their value and limit") {
  CHECK(refusal([](LayerNormArgs& args) { args.rows = -1; }) == "rows is -1; it must be at least 0");
  CHECK(refusal([](LayerNormArgs& args) { args.cols = 0; }) == "cols is 0; it must be at least 1");
  CHECK(refusal([](LayerNormArgs& args) { args.cols = -4; }) == "cols is -4; it must be at least 1");
  CHECK(refusal([](LayerNormArgs& args) { args.eps = -1e-9f; }) == "eps is -1e-09; it must be at least 0");
  CHECK(refusal([](LayerNormArgs& args) { args.eps = -std::numeric_limits<float>::infinity(); }) ==
        "eps is -inf; it must be at least 0");
  CHECK(refusal([](LayerNormArgs& args) { args.eps = std::numeric_limits<float>::quiet_NaN(); }) ==
        "eps is nan; it must be at least 0");
}

TEST_CASE("a matrix that 64-bit offsets in bytes cannot address is refused") {
  const auto sized = [](std::int64_t rows, std::int64_t cols) {
    return refusal([&](LayerNormArgs& args) {
      args.rows = rows;
      args.cols = cols;
      args.x = args.y = nullptr;  // so that a size in range is refused for another reason
    });
  };
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;  // 2⁶¹ − 1 floats
  CHECK(sized(most, 1) == "x is null; it must point to device memory");
  CHECK(sized(1, most) == "x is null; it must point to device memory");
  CHECK(sized(most + 1, 1) == "rows · cols is 2305843009213693952 · 1; it must be at most 2305843009213693951");
  CHECK(starts_with(sized(std::int64_t{1} << 32, std::int64_t{1} << 32), "rows · cols is 4294967296 · 4294967296;"));
  CHECK(starts_with(sized(3, std::numeric_limits<std::int64_t>::max()), "rows · cols is 3 · 9223372036854775807;"));
}

TEST_CASE("null x and y are refused, but not looked at where rows is 0") {
  CHECK(refusal([](LayerNormArgs& args) { args.x = nullptr; }) == "x is null; it must point to device memory");
  CHECK(refusal([](LayerNormArgs& args) { args.y = nullptr; }) == "y is null; it must point to device memory");
  CHECK(refusal([](LayerNormArgs& args) { args = {.rows = 0, .cols = 4}; }) == "accepted");
  CHECK(refusal([](LayerNormArgs& args) { args = {.rows = 0, .cols = 0}; }) == "cols is 0; it must be at least 1");
}

TEST_CASE("y may be x where the kernel allows it, and never overlap it in part") {
  std::vector<float> memory(40);
  float* const x = memory.data() + 12;  // x is [12, 24)
  const auto placed = [&](std::int64_t y, InPlace in_place) {
    return refusal(
        [&](LayerNormArgs& args) {
          args.x = x;
          args.y = x + y;
        },
        in_place);
  };
  CHECK(placed(0, InPlace::allowed) == "accepted");
  CHECK(contains(placed(0, InPlace::refused), "it must not overlap x"));
  for (const InPlace in_place : {InPlace::allowed, InPlace::refused}) {
    for (const std::int64_t y : {-11, -4, -1, 1, 4, 11})
      CHECK(contains(placed(y, in_place), "; it must not overlap x, which is [0x"));
    for (const std::int64_t y : {-12, 12}) CHECK(placed(y, in_place) == "accepted");
  }
}

TEST_CASE("outputs may overlap neither an input nor each other") {
  const auto overlap = [](const std::function<void(LayerNormArgs&)>& change) {
    return refusal(change, InPlace::allowed);
  };
  const auto says = [](const std::string& message, const char* output, const char* other) {
    return starts_with(message, (std::string(output) + " is 0x").c_str()) &&
           contains(message, (std::string("must not overlap ") + other + ",").c_str());
  };
  CHECK(says(overlap([](LayerNormArgs& args) { args.gamma = args.y + 8; }), "y", "gamma"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.beta = args.y + 11; }), "y", "beta"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.mean = args.y + 11; }), "mean", "y"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.rstd = args.y; }), "rstd", "y"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.x = args.mean; }), "mean", "x"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.x = args.rstd; }), "rstd", "x"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.gamma = args.mean; }), "mean", "gamma"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.gamma = args.rstd; }), "rstd", "gamma"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.beta = args.mean; }), "mean", "beta"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.beta = args.rstd; }), "rstd", "beta"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.rstd = args.mean; }), "rstd", "mean"));
  CHECK(says(overlap([](LayerNormArgs& args) { args.rstd = args.mean + 2; }), "rstd", "mean"));
}

TEST_CASE("RMSNorm's arguments are checked alike, without beta and mean") {
  Memory memory;
  struct rms_norm {
    static void rms_norm_of(const RmsNormArgs& args, InPlace in_place) { check(args, in_place); }
  };
  const std::string place = "rms_norm_of (check_test.cpp:" + std::to_string(__LINE__ - 2) + "): ";
  const auto refusal = [&](const std::function<void(RmsNormArgs&)>& change, InPlace in_place = InPlace::refused) {
    RmsNormArgs args = rms_norm_args(memory.args());
    change(args);
    return message_of([&] { rms_norm::rms_norm_of(args, in_place); });
  };
  CHECK(refusal([](RmsNormArgs&) {}) == "accepted");
  CHECK(refusal([](RmsNormArgs& args) { args.gamma = nullptr; }) == "accepted");
  CHECK(refusal([](RmsNormArgs& args) { args.rstd = nullptr; }) == "accepted");
  CHECK(refusal([](RmsNormArgs& args) { args = {.rows = 0, .cols = 4}; }) == "accepted");
  CHECK(refusal([](RmsNormArgs& args) { args.x = args.y; }, InPlace::allowed) == "accepted");
  CHECK(refusal([](RmsNormArgs& args) { args.rows = -1; }) == place + "rows is -1; it must be at least 0");
  CHECK(refusal([](RmsNormArgs& args) { args.cols = 0; }) == place + "cols is 0; it must be at least 1");
  CHECK(refusal([](RmsNormArgs& args) { args.eps = -1; }) == place + "eps is -1; it must be at least 0");
  CHECK(refusal([](RmsNormArgs& args) { args.x = nullptr; }) == place + "x is null; it must point to device memory");
  CHECK(refusal([](RmsNormArgs& args) { args.y = nullptr; }) == place + "y is null; it must point to device memory");
  CHECK(contains(refusal([](RmsNormArgs& args) { args.x = args.y; }), "it must not overlap x"));
  CHECK(contains(refusal([](RmsNormArgs& args) { args.gamma = args.y + 8; }), "it must not overlap gamma"));
  CHECK(contains(refusal([](RmsNormArgs& args) { args.rstd = args.y + 11; }), "it must not overlap y"));
}

TEST_CASE("RMSNorm's arguments are LayerNorm's without beta and mean, and back") {
  Memory memory;
  const LayerNormArgs all = memory.args();
  const LayerNormArgs back = layer_norm_args(rms_norm_args(all));
  CHECK(back.x == all.x);
  CHECK(back.gamma == all.gamma);
  CHECK(back.beta == nullptr);
  CHECK(back.y == all.y);
  CHECK(back.mean == nullptr);
  CHECK(back.rstd == all.rstd);
  CHECK(back.rows == all.rows);
  CHECK(back.cols == all.cols);
  CHECK(back.eps == all.eps);
}

TEST_CASE("a copy's arguments are checked alike") {
  std::vector<float> x(8), y(8);
  struct copy {
    static void scalar(const CopyArgs& args) { check(args); }
  };
  const std::string place = "scalar (check_test.cpp:" + std::to_string(__LINE__ - 2) + "): ";
  const auto refusal = [](CopyArgs args) { return message_of([&] { copy::scalar(args); }); };
  CHECK(refusal({.x = x.data(), .y = y.data(), .count = 8}) == "accepted");
  CHECK(refusal({.x = nullptr, .y = nullptr, .count = 0}) == "accepted");
  CHECK(refusal({.x = x.data(), .y = y.data(), .count = -1}) == place + "count is -1; it must be at least 0");
  CHECK(refusal({.x = nullptr, .y = y.data(), .count = 1}) == place + "x is null; it must point to device memory");
  CHECK(refusal({.x = x.data(), .y = nullptr, .count = 1}) == place + "y is null; it must point to device memory");
  CHECK(refusal({.x = x.data(), .y = x.data() + 4, .count = 4}) == "accepted");
  CHECK(contains(refusal({.x = x.data(), .y = x.data() + 3, .count = 4}), "it must not overlap x"));
  CHECK(contains(refusal({.x = x.data(), .y = x.data(), .count = 8}), "it must not overlap x"));
  CHECK(contains(refusal({.x = x.data(), .y = y.data(), .count = std::int64_t{1} << 61}),
                 "count is 2305843009213693952; it must be at most"));
}

namespace {

/// A backward's arguments in host memory, 5 rows of 4: two slabs, so a workspace of 16 floats.
struct BackwardMemory {
  Places places;
  float *x = places.next(), *dy = places.next(), *dx = places.next(), *workspace = places.next(),
        *gamma = places.next(), *dgamma = places.next(), *dbeta = places.next(), *mean = places.next(),
        *rstd = places.next();
  LayerNormBackwardArgs args() {
    return {.x = x,
            .gamma = gamma,
            .mean = mean,
            .rstd = rstd,
            .dy = dy,
            .dx = dx,
            .dgamma = dgamma,
            .dbeta = dbeta,
            .workspace = workspace,
            .rows = 5,
            .cols = 4};
  }
};
using BackwardChange = std::function<void(LayerNormBackwardArgs&)>;

/// The message, without the launcher's name and place, that the backward's arguments get after this change.
std::string backward_refusal(const BackwardChange& change, InPlace in_place = InPlace::allowed,
                             Workspace workspace = Workspace::needed, Norm norm = Norm::layer_norm) {
  BackwardMemory memory;
  LayerNormBackwardArgs args = memory.args();
  change(args);
  const std::string message = message_of([&] {
    if (norm == Norm::rms_norm) return check(rms_norm_backward_args(args), in_place, workspace);
    check(args, in_place, workspace);
  });
  const auto place_end = message.find("): ");
  return place_end == std::string::npos ? message : message.substr(place_end + 3);
}

}  // namespace

TEST_CASE("a backward's good arguments pass") {
  const BackwardChange changes[] = {[](auto&) {},
                                    [](auto& args) { args.gamma = nullptr; },
                                    [](auto& args) { args.dx = nullptr; },
                                    [](auto& args) { args.dgamma = nullptr; },
                                    [](auto& args) { args.dbeta = nullptr; },
                                    [](auto& args) { args.dgamma = args.dbeta = args.workspace = nullptr; },
                                    [](auto& args) { args.dx = args.dgamma = args.dbeta = nullptr; },
                                    [](auto& args) { args.dy = args.x; },  // two inputs may share memory
                                    [](auto& args) { args.dx = const_cast<float*>(args.dy); },
                                    [](auto& args) { args.accumulate = true; },
                                    [](auto& args) { args = {.rows = 0, .cols = 4}; }};
  for (const BackwardChange& change : changes) {
    CHECK(backward_refusal(change) == "accepted");
    CHECK(backward_refusal(change, InPlace::allowed, Workspace::needed, Norm::rms_norm) == "accepted");
  }
  const BackwardChange without_workspace = [](auto& args) { args.workspace = nullptr; };
  CHECK(backward_refusal(without_workspace, InPlace::allowed, Workspace::unused) == "accepted");
  // To RMSNorm mean and dbeta are nothing.
  CHECK(backward_refusal([](auto& args) { args.mean = nullptr; }, InPlace::allowed, Workspace::needed,
                         Norm::rms_norm) == "accepted");
}

TEST_CASE("a backward's message names the launcher that called check(), its file and line") {
  struct backward {
    static void layer_norm(const LayerNormBackwardArgs& args) { check(args, InPlace::allowed, Workspace::needed); }
    static void rms_norm(const RmsNormBackwardArgs& args) { check(args, InPlace::allowed, Workspace::needed); }
  };
  const std::string first = std::to_string(__LINE__ - 3), second = std::to_string(__LINE__ - 2);
  CHECK(message_of([] { backward::layer_norm({}); }) ==
        "layer_norm (check_test.cpp:" + first + "): cols is 0; it must be at least 1");
  CHECK(message_of([] { backward::rms_norm({}); }) ==
        "rms_norm (check_test.cpp:" + second + "): cols is 0; it must be at least 1");
}

TEST_CASE("a backward's sizes out of range and null inputs are refused") {
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    const auto refusal = [norm](const BackwardChange& change) {
      return backward_refusal(change, InPlace::allowed, Workspace::needed, norm);
    };
    CHECK(refusal([](auto& args) { args.rows = -1; }) == "rows is -1; it must be at least 0");
    CHECK(refusal([](auto& args) { args.cols = 0; }) == "cols is 0; it must be at least 1");
    CHECK(refusal([](auto& args) { args = {.rows = 0, .cols = -4}; }) == "cols is -4; it must be at least 1");
    CHECK(refusal([](auto& args) { args.rows = std::int64_t{1} << 61, args.cols = 1; }) ==
          "rows · cols is 2305843009213693952 · 1; it must be at most 2305843009213693951");
    CHECK(refusal([](auto& args) { args.x = nullptr; }) == "x is null; it must point to device memory");
    CHECK(refusal([](auto& args) { args.dy = nullptr; }) == "dy is null; it must point to device memory");
    CHECK(refusal([](auto& args) { args.rstd = nullptr; }) == "rstd is null; it must point to device memory");
    CHECK(refusal([](auto& args) { args.workspace = nullptr; }) ==
          "workspace is null; it must point to 16 floats of device memory");
  }
  CHECK(backward_refusal([](auto& args) { args.mean = nullptr; }) == "mean is null; it must point to device memory");
}

TEST_CASE("dx may be dy where the kernel allows it, and never overlap it in part") {
  std::vector<float> memory(60);
  float* const dy = memory.data() + 20;  // dy is [20, 40)
  const auto placed = [&](std::int64_t dx, InPlace in_place) {
    return backward_refusal(
        [&](LayerNormBackwardArgs& args) {
          args.dy = dy;
          args.dx = dy + dx;
        },
        in_place);
  };
  CHECK(placed(0, InPlace::allowed) == "accepted");
  CHECK(contains(placed(0, InPlace::refused), "it must not overlap dy"));
  for (const InPlace in_place : {InPlace::allowed, InPlace::refused}) {
    for (const std::int64_t dx : {-19, -4, -1, 1, 4, 19})
      CHECK(contains(placed(dx, in_place), "; it must not overlap dy, which is [0x"));
    for (const std::int64_t dx : {-20, 20}) CHECK(placed(dx, in_place) == "accepted");
  }
}

TEST_CASE("a backward's outputs and workspace may overlap neither an input nor each other") {
  const auto says = [](const BackwardChange& change, const char* output, const char* other,
                       Workspace workspace = Workspace::needed) {
    const std::string message = backward_refusal(change, InPlace::allowed, workspace);
    return starts_with(message, (std::string(output) + " is 0x").c_str()) &&
           contains(message, (std::string("must not overlap ") + other + ",").c_str());
  };
  CHECK(says([](auto& args) { args.x = args.dx; }, "dx", "x"));
  CHECK(says([](auto& args) { args.gamma = args.dx + 16; }, "dx", "gamma"));
  CHECK(says([](auto& args) { args.mean = args.dx + 19; }, "dx", "mean"));
  CHECK(says([](auto& args) { args.rstd = args.dx; }, "dx", "rstd"));
  CHECK(says([](auto& args) { args.gamma = args.dgamma; }, "dgamma", "gamma"));
  CHECK(says([](auto& args) { args.mean = args.dgamma + 3; }, "dgamma", "mean"));
  CHECK(says([](auto& args) { args.dgamma = args.dx + 16; }, "dgamma", "dx"));
  CHECK(says([](auto& args) { args.gamma = args.dbeta; }, "dbeta", "gamma"));
  CHECK(says([](auto& args) { args.rstd = args.dbeta; }, "dbeta", "rstd"));
  CHECK(says([](auto& args) { args.dbeta = args.dx; }, "dbeta", "dx"));
  CHECK(says([](auto& args) { args.dbeta = args.dgamma; }, "dbeta", "dgamma"));
  CHECK(says([](auto& args) { args.gamma = args.workspace + 15; }, "workspace", "gamma"));
  CHECK(says([](auto& args) { args.rstd = args.workspace; }, "workspace", "rstd"));
  CHECK(says([](auto& args) { args.dx = args.workspace + 15; }, "workspace", "dx"));
  CHECK(says([](auto& args) { args.dgamma = args.workspace + 12; }, "workspace", "dgamma"));
  CHECK(says([](auto& args) { args.dbeta = args.workspace; }, "workspace", "dbeta"));
  // What is not used may lie anywhere.
  const BackwardChange over_dbeta = [](auto& args) { args.workspace = args.dbeta; };
  CHECK(!says(over_dbeta, "workspace", "dbeta", Workspace::unused));
  CHECK(backward_refusal([](auto& args) { args.workspace = args.dx, args.dgamma = args.dbeta = nullptr; }) ==
        "accepted");
}
