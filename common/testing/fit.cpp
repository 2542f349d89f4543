#include <testing/fit.h>

#include <host/device_buffer.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

namespace testing {

bool agrees(float got, double predicted, double tolerance) {
  const bool poison = DeviceBuffer<float>::is_poison(got);
  if (predicted == not_written || poison) return predicted == not_written && poison;
  if (std::isnan(predicted) || std::isnan(got)) return std::isnan(predicted) && std::isnan(got);
  if (std::isinf(got) || std::isinf(predicted)) return static_cast<double>(got) == predicted;
  return std::abs(got - predicted) <= tolerance;
}

void Fit::add(float got, double predicted, double tolerance, double right, double bound) {
  agrees = agrees && testing::agrees(got, predicted, tolerance);
  const bool same = predicted == right || (std::isnan(predicted) && std::isnan(right));
  convicts = convicts || !(same || std::abs(predicted - right) <= bound + tolerance);
}

void add_name(LikelyMistakes& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

LikelyMistakes at_most_two(const LikelyMistakes& names) { return names.size() > 2 ? LikelyMistakes{} : names; }

std::vector<Dealt> deals(std::int64_t threads) { return {{1, threads}, {4, threads}}; }

std::vector<std::int64_t> short_ends(std::int64_t cols, std::int64_t threads) {
  std::set<std::int64_t> ends;
  for (const std::int64_t unit : {std::int64_t{4}, std::int64_t{32}, std::int64_t{128}, threads, 4 * threads}) {
    ends.insert({cols - cols % unit, cols - unit, (cols - 1) / unit * unit});
  }
  ends.insert({cols - 1, threads, 4 * threads});
  std::vector<std::int64_t> result;
  std::copy_if(ends.begin(), ends.end(), std::back_inserter(result),
               [&](std::int64_t end) { return end >= 0 && end < cols; });
  return result;
}

std::vector<std::int64_t> padded_lengths(std::int64_t cols, std::int64_t threads) {
  std::set<std::int64_t> lengths;
  for (const std::int64_t unit : {std::int64_t{4}, std::int64_t{32}, std::int64_t{64}, std::int64_t{128},
                                  std::int64_t{256}, std::int64_t{512}, std::int64_t{1024}, threads, 4 * threads}) {
    lengths.insert((cols + unit - 1) / unit * unit);
  }
  lengths.insert(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(cols))));
  lengths.erase(cols);
  return {lengths.begin(), lengths.end()};
}

std::vector<Counted> wrong_counts(std::int64_t cols, std::int64_t threads) {
  std::vector<Counted> result;
  for (const std::int64_t end : short_ends(cols, threads)) {
    result.push_back({"tail_dropped", [=](std::int64_t c) { return c < end ? 1.0 : 0.0; }});
  }
  const std::int64_t warps = threads / 32;
  for (const Dealt& dealt : deals(threads)) {
    const auto threads_that = [&](std::string_view mistake, const std::function<bool(std::int64_t thread)>& count) {
      result.push_back({mistake, [=](std::int64_t c) { return count(dealt.thread(c)) ? 1.0 : 0.0; }});
    };
    for (std::int64_t warp = 0; warps > 1 && warp < warps; ++warp) {
      threads_that("warp_lost", [=](std::int64_t thread) { return thread / 32 != warp; });
    }
    if (warps > 2) threads_that("first_warp_only", [](std::int64_t thread) { return thread < 32; });
    if (threads > 1) {
      threads_that("step_lost", [](std::int64_t thread) { return thread % 2 == 0; });        // tree, far to near
      threads_that("step_lost", [](std::int64_t thread) { return thread % 32 < 16; });       // shuffles, near to far
      threads_that("step_lost", [=](std::int64_t thread) { return thread < threads / 2; });  // tree, far to near
    }
    // A step that is too short: each group of columns is met by several threads.
    for (const std::int64_t step : {threads, std::int64_t{32}, std::int64_t{128}}) {
      const std::int64_t width = dealt.width;
      if (step >= width * threads || step < width || step % width != 0) continue;
      result.push_back({"counted_twice", [=](std::int64_t c) {
                          const std::int64_t first = c / width * width;  // thread t meets it if t·width + k·step does
                          double times = 0;
                          for (std::int64_t t = 0; t < threads && t * width <= first; ++t) {
                            if ((first - t * width) % step == 0) ++times;
                          }
                          return times;
                        }});
    }
  }
  const std::int64_t whole = cols - cols % 4;
  if (threads > 1 && whole < cols) {  // every thread counts the tail
    result.push_back({"counted_twice", [=](std::int64_t c) { return c < whole ? 1.0 : static_cast<double>(threads); }});
  }
  return result;
}

}  // namespace testing
