#include <testing/diagnosis_states.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace testing {
namespace {

/// An update with one mistake: each member is a part of it, right unless it is replaced. n is the count of before.
struct MistakenUpdate {
  std::string_view mistake;
  double (*count)(double n) = [](double n) { return n + 1; };
  double (*divisor)(double n) = [](double n) { return n + 1; };
  double (*mean)(double n, double mean) = [](double, double mean) { return mean; };
  double (*m2)(double n, double m2, double old_deviation, double new_deviation) =
      [](double, double m2, double old_deviation, double new_deviation) { return m2 + old_deviation * new_deviation; };
};

/// The lower 32 bits of a whole number.
double in_unsigned(double n) { return std::fmod(n, 0x1p32); }
double in_32_bits(double n) { return in_unsigned(n) < 0x1p31 ? in_unsigned(n) : in_unsigned(n) - 0x1p32; }
double in_float(double n) { return static_cast<double>(static_cast<float>(n)); }

constexpr MistakenUpdate mistaken_update_table[] = {
    {.mistake = "old_deviation_twice", .m2 = [](double, double m2, double old, double) { return m2 + old * old; }},
    {.mistake = "new_deviation_twice", .m2 = [](double, double m2, double, double next) { return m2 + next * next; }},
    {.mistake = "m2_not_accumulated", .m2 = [](double, double, double old, double next) { return old * next; }},
    {.mistake = "divided_by_the_old_count", .divisor = [](double n) { return n; }},
    {.mistake = "divided_by_the_old_count", .divisor = [](double n) { return n == 0 ? 1 : n; }},
    {.mistake = "first_value_skipped", .mean = [](double n, double mean) { return n == 0 ? 0 : mean; }},
    {.mistake = "first_value_skipped",  // and counted
     .mean = [](double n, double mean) { return n == 0 ? 0 : mean; },
     .m2 = [](double n, double m2, double old, double next) { return n == 0 ? 0 : m2 + old * next; }},
    {.mistake = "count_not_updated", .count = [](double n) { return n; }},
    {.mistake = "count_in_float", .count = [](double n) { return in_float(in_float(n) + 1); }},
    {.mistake = "count_in_32_bits",
     .count = [](double n) { return in_32_bits(n) + 1; },
     .divisor = [](double n) { return in_32_bits(n) + 1; }},
    {.mistake = "count_in_32_bits",
     .count = [](double n) { return in_32_bits(n + 1); },
     .divisor = [](double n) { return in_32_bits(n + 1); }},
    {.mistake = "count_in_32_bits", .divisor = [](double n) { return in_32_bits(n + 1); }},
    {.mistake = "all_zeros",
     .mean = [](double, double) { return 0.0; },
     .m2 = [](double, double, double, double) { return 0.0; }},
};

}  // namespace

std::vector<Candidate> mistaken_updates(const WelfordState& start, std::span<const float> values) {
  std::vector<Candidate> candidates;
  for (const MistakenUpdate& mistaken : mistaken_update_table) {
    auto [n, mean, m2] = start;
    std::vector<double> predicted;
    for (const float x : values) {
      const double deviation = x - mean;
      mean = mistaken.mean(n, mean + deviation / mistaken.divisor(n));
      m2 = mistaken.m2(n, m2, deviation, x - mean);
      n = mistaken.count(n);
      predicted.insert(predicted.end(), {n - start.n, mean, m2});
    }
    candidates.push_back({mistaken.mistake, predicted});
  }
  return candidates;
}

std::vector<Candidate> mistaken_merges(const WelfordState& a, const WelfordState& b) {
  const double n = a.n + b.n, delta = b.mean - a.mean, share = b.n / n;
  const double mean = a.mean + delta * share, within = a.m2 + b.m2, between = delta * delta * a.n * share;
  // Without the guard the operations are a float's: the square of a huge mean is infinite, and ∞ · 0 is NaN.
  const float step = static_cast<float>(b.mean) - static_cast<float>(a.mean), part = static_cast<float>(share);
  const float unguarded_mean = static_cast<float>(a.mean) + step * part;
  const float unguarded_m2 = static_cast<float>(within) + step * step * static_cast<float>(a.n) * part;
  const Candidate unguarded = {"empty_part_not_guarded", {0, unguarded_mean, unguarded_m2}};
  const Candidate a_alone = {"one_part_lost", {-b.n, a.mean, a.m2}}, b_alone = {"one_part_lost", {-a.n, b.mean, b.m2}};
  if (a.n == 0 || b.n == 0) return {unguarded, a_alone, b_alone};  // the others divide 0 by 0 as well
  const double product_in_32_bits = in_32_bits(a.n * b.n), short_n = in_32_bits(n), short_share = b.n / short_n;
  return {
      {"plain_average_of_means", {0, a.mean + delta / 2, within + between}},
      {"wrong_part_weighs", {0, b.mean - delta * share, within + between}},
      {"wrong_part_weighs", {0, b.mean - delta * share, within + delta * delta * a.n * a.n / n}},  // in m2 as well
      {"distance_term_missing", {0, mean, within}},
      {"distance_not_weighted", {0, mean, within + delta * delta}},
      {"one_part_lost", {0, a.mean, within}},  // b's share is taken as 0
      a_alone,
      b_alone,
      {"count_in_float", {in_float(in_float(a.n) + in_float(b.n)) - n, mean, within + between}},
      {"count_in_32_bits", {in_32_bits(n) - n, mean, within + between}},
      {"count_in_32_bits", {0, mean, within + delta * delta * product_in_32_bits / n}},
      {"count_in_32_bits", {short_n - n, a.mean + delta * short_share, within + delta * delta * a.n * short_share}},
  };
}

namespace {

/// The state of both; with the guard for parts without values.
WelfordState merged(const WelfordState& a, const WelfordState& b) {
  if (b.n == 0) return a;
  if (a.n == 0) return b;
  const double n = a.n + b.n, delta = b.mean - a.mean;
  return {n, a.mean + delta * b.n / n, a.m2 + b.m2 + delta * delta * a.n * b.n / n};
}
WelfordState merged_without_guard(const WelfordState& a, const WelfordState& b) {
  const double n = a.n + b.n, delta = b.mean - a.mean, share = b.n / n;
  return {n, a.mean + delta * share, a.m2 + b.m2 + delta * delta * a.n * share};
}

/// A reduction over a warp with one mistake: each member is a part of it, right unless it is replaced.
struct MistakenReduction {
  std::string_view mistake;
  std::vector<int> distances = {1, 2, 4, 8, 16};
  bool up = false;
  /// What a lane makes of the state of the other and of its own before the merge.
  WelfordState (*received)(const WelfordState& other, const WelfordState& own) =
      [](const WelfordState& other, const WelfordState&) { return other; };
  WelfordState (*merge)(const WelfordState& a, const WelfordState& b) = merged;
};

WelfordState reduced(const MistakenReduction& mistaken, std::vector<WelfordState> lanes) {
  const int count = static_cast<int>(lanes.size());
  for (const int distance : mistaken.distances) {
    const std::vector<WelfordState> before = lanes;
    for (int lane = 0; lane < count; ++lane) {
      const int from = mistaken.up ? lane - distance : lane + distance;
      const WelfordState& own = before[static_cast<std::size_t>(lane)];
      // A shuffle from outside of the warp gives a lane its own state.
      const WelfordState& other = from < 0 || from >= count ? own : before[static_cast<std::size_t>(from)];
      lanes[static_cast<std::size_t>(lane)] = mistaken.merge(own, mistaken.received(other, own));
    }
  }
  return lanes[0];
}

std::vector<int> every_distance() {
  std::vector<int> distances;
  for (int distance = 1; distance < 32; ++distance) distances.push_back(distance);
  return distances;
}

}  // namespace

std::vector<Candidate> mistaken_warp_reductions(const std::vector<WelfordState>& lanes) {
  using State = WelfordState;
  const MistakenReduction table[] = {
      {.mistake = "step_lost", .distances = {2, 4, 8, 16}},  // in any order: lane 0 has the same lanes
      {.mistake = "step_lost", .distances = {1, 4, 8, 16}},
      {.mistake = "step_lost", .distances = {1, 2, 8, 16}},
      {.mistake = "step_lost", .distances = {1, 2, 4, 16}},
      {.mistake = "step_lost", .distances = {1, 2, 4, 8}},
      {.mistake = "counted_twice", .distances = {1, 2, 4, 8, 16, 32}},
      {.mistake = "counted_twice", .distances = every_distance()},
      {.mistake = "counted_twice", .distances = {1, 1, 1, 1, 1}},
      {.mistake = "counted_twice", .distances = {16, 16, 16, 16, 16}},
      {.mistake = "travels_up", .up = true},
      {.mistake = "count_stays_at_home",
       .received =
           [](const State& other, const State& own) {
             return State{own.n, other.mean, other.m2};
           }},
      {.mistake = "m2_stays_at_home",
       .received =
           [](const State& other, const State& own) {
             return State{other.n, other.mean, own.m2};
           }},
      {.mistake = "mean_stays_at_home",
       .received =
           [](const State& other, const State& own) {
             return State{other.n, own.mean, other.m2};
           }},
      {.mistake = "empty_part_not_guarded", .merge = merged_without_guard},
      {.mistake = "count_in_float",
       .received =
           [](const State& other, const State&) {
             return State{in_float(other.n), other.mean, other.m2};
           }},
      {.mistake = "count_in_32_bits",
       .received =
           [](const State& other, const State&) {
             return State{in_32_bits(other.n), other.mean, other.m2};
           }},
      {.mistake = "count_in_32_bits",
       .received =
           [](const State& other, const State&) {
             return State{in_unsigned(other.n), other.mean, other.m2};
           }},
  };
  double n = 0;
  for (const WelfordState& lane : lanes) n += lane.n;
  std::vector<Candidate> candidates;
  for (const MistakenReduction& mistaken : table) {
    const WelfordState state = reduced(mistaken, lanes);
    candidates.push_back({mistaken.mistake, {state.n - n, state.mean, state.m2}});
  }
  return candidates;
}

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

SoftmaxState rescaled(SoftmaxState a, SoftmaxState b, float max) {
  return {max, a.sum * std::exp(a.max - max) + b.sum * std::exp(b.max - max)};
}
SoftmaxState merged(SoftmaxState a, SoftmaxState b) { return rescaled(a, b, std::max(a.max, b.max)); }

/// Online softmax, right unless a part is replaced.
struct MistakenSoftmax {
  std::string_view mistake;
  SoftmaxState (*state_of)(float x) = [](float x) {
    return x == -infinity ? SoftmaxState{} : SoftmaxState{x, std::exp(x - x)};
  };
  SoftmaxState (*merge_two)(SoftmaxState a, SoftmaxState b) = merged;
  bool guards_left = true, guards_right = true;  // against a state of no values

  SoftmaxState merge(SoftmaxState a, SoftmaxState b) const {
    if (guards_right && b.sum == 0) return a;
    if (guards_left && a.sum == 0) return b;
    return merge_two(a, b);
  }
};

const MistakenSoftmax mistaken_softmax_table[] = {
    {.mistake = "empty_part_not_guarded", .guards_left = false},
    {.mistake = "empty_part_not_guarded", .guards_right = false},
    {.mistake = "empty_part_not_guarded", .guards_left = false, .guards_right = false},
    {.mistake = "no_maximum", .merge_two = [](SoftmaxState a, SoftmaxState b) { return rescaled(a, b, 0); }},
    {.mistake = "no_maximum",
     .state_of =
         [](float x) {
           return x == -infinity ? SoftmaxState{} : SoftmaxState{0, std::exp(x)};
         }},
    {.mistake = "no_maximum",  // in either
     .state_of =
         [](float x) {
           return x == -infinity ? SoftmaxState{} : SoftmaxState{0, std::exp(x)};
         },
     .merge_two =
         [](SoftmaxState a, SoftmaxState b) {
           return SoftmaxState{0, a.sum + b.sum};
         }},
    {.mistake = "smaller_maximum",
     .merge_two = [](SoftmaxState a, SoftmaxState b) { return rescaled(a, b, std::min(a.max, b.max)); }},
    {.mistake = "sums_not_rescaled",
     .merge_two =
         [](SoftmaxState a, SoftmaxState b) {
           return SoftmaxState{std::max(a.max, b.max), a.sum + b.sum};
         }},
    {.mistake = "sums_not_rescaled",  // a's
     .merge_two =
         [](SoftmaxState a, SoftmaxState b) {
           return merged({std::max(a.max, b.max), a.sum}, b);
         }},
    {.mistake = "sums_not_rescaled",  // b's
     .merge_two =
         [](SoftmaxState a, SoftmaxState b) {
           return merged(a, {std::max(a.max, b.max), b.sum});
         }},
    {.mistake = "rescaled_the_wrong_way",  // a's
     .merge_two =
         [](SoftmaxState a, SoftmaxState b) {
           const float max = std::max(a.max, b.max);
           return SoftmaxState{max, a.sum * std::exp(max - a.max) + b.sum * std::exp(b.max - max)};
         }},
    {.mistake = "rescaled_the_wrong_way",
     .merge_two =
         [](SoftmaxState a, SoftmaxState b) {
           const float max = std::max(a.max, b.max);
           return SoftmaxState{max, a.sum * std::exp(max - a.max) + b.sum * std::exp(max - b.max)};
         }},
    {.mistake = "infinity_not_guarded",
     .state_of =
         [](float x) {
           return SoftmaxState{x, std::exp(x - x)};
         }},
    {.mistake = "infinity_not_guarded",
     .state_of =
         [](float x) {
           return SoftmaxState{x, 1};
         }},
    {.mistake = "number_taken_for_a_mask",
     .state_of =
         [](float x) {
           return x < -1e5f ? SoftmaxState{} : SoftmaxState{x, std::exp(x - x)};
         }},
    {.mistake = "infinity_weighs_one",
     .state_of =
         [](float x) {
           return x == -infinity ? SoftmaxState{} : SoftmaxState{x, 1};
         }},
    {.mistake = "all_zeros",
     .state_of =
         [](float x) {
           return SoftmaxState{x, 0};
         }},
};

/// The sums that the two functions give.
template <class StateOf, class Merge>
std::vector<double> sums_of(const StateOf& state_of, const Merge& merge) {
  const SoftmaxState low{-3, 2}, high{-1, 5}, none{};
  return {state_of(2).sum,      state_of(-1e6f).sum,  state_of(-infinity).sum, state_of(infinity).sum,
          merge(low, high).sum, merge(high, low).sum, merge(low, none).sum,    merge(none, low).sum};
}
std::vector<double> sums_of(const MistakenSoftmax& softmax) {
  return sums_of(softmax.state_of, [&](SoftmaxState a, SoftmaxState b) { return softmax.merge(a, b); });
}

}  // namespace

std::string likely_softmax_mistake(const std::function<SoftmaxState(float x)>& state_of,
                                   const std::function<SoftmaxState(SoftmaxState, SoftmaxState)>& merge) {
  std::vector<Candidate> candidates;
  for (const MistakenSoftmax& mistaken : mistaken_softmax_table) {
    candidates.push_back({mistaken.mistake, sums_of(mistaken)});
  }
  return likely_mistake(candidates, sums_of(state_of, merge), sums_of(MistakenSoftmax{.mistake = ""}));
}

}  // namespace testing
