#include <testing/fit.h>

#include <host/device_buffer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
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
  // Many mistakes end in NaN or infinity, so these tell none from another.
  convicts = convicts || (std::isfinite(predicted) && !(std::abs(predicted - right) <= bound + tolerance));
}

void add_name(LikelyMistakes& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

LikelyMistakes at_most_two(const LikelyMistakes& names) { return names.size() > 2 ? LikelyMistakes{} : names; }

void fill_probe(std::vector<float>& x, std::int64_t cols, double mean, Random& random) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto row = static_cast<int>(i / static_cast<std::size_t>(cols));
    x[i] = static_cast<float>(std::ldexp(mean + random.normal(), -(row % 3)));
  }
}

std::vector<Dealt> deals(std::int64_t threads) { return {{1, threads}, {4, threads}}; }

std::vector<Lopsided> results_of_thread_0(std::int64_t threads) {
  std::vector<Lopsided> result;
  if (threads == 1) return result;
  using Counts = std::array<std::array<double, 32>, 32>;  // [lane][of which lane]
  const auto shuffled = [](std::initializer_list<std::size_t> distances) {
    Counts counts{};
    for (std::size_t lane = 0; lane < 32; ++lane) counts[lane][lane] = 1;
    for (const std::size_t distance : distances) {
      const Counts before = counts;
      for (std::size_t lane = 0; lane < 32; ++lane) {  // beyond the warp a shuffle gives a lane its own value
        const auto& other = before[lane + distance < 32 ? lane + distance : lane];
        for (std::size_t from = 0; from < 32; ++from) counts[lane][from] += other[from];
      }
    }
    return counts;
  };
  for (const Dealt& dealt : deals(threads)) {
    const auto thread_of = [=](std::int64_t column) { return dealt.thread(column); };
    for (const Counts& counts : {shuffled({1, 2, 4, 8, 16}), shuffled({16, 8, 4, 2, 1})}) {
      const auto in_warp = [=](std::int64_t to, std::int64_t from) {
        return counts[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
      };
      result.push_back({thread_of, [=](std::int64_t thread, std::int64_t column) {
                          const std::int64_t from = dealt.thread(column), warp = thread / 32;
                          if (warp == 0 && threads > 32) return in_warp(thread, from / 32);  // the warps' results
                          return from / 32 == warp ? in_warp(thread % 32, from % 32) : 0.0;
                        }});
    }
    // After the tree slot i has the slots that leave the rest i on division by the smallest power of two above i.
    result.push_back({thread_of, [=](std::int64_t thread, std::int64_t column) {
                        const auto period =
                            static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(thread) + 1));
                        return dealt.thread(column) % period == thread ? 1.0 : 0.0;
                      }});
  }
  return result;
}

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
    for (std::int64_t step = 1; step < threads; step *= 2) {
      threads_that("step_lost", [=](std::int64_t thread) { return (thread & step) == 0; });
    }
    // A step that is too short: each group of columns is met by several threads.
    const std::int64_t width = dealt.width;
    for (const std::int64_t step : {threads, std::int64_t{32}, std::int64_t{128}, width * threads / 2}) {
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
