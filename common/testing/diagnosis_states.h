/// What known mistakes make of the states of Welford and of softmax: for the tests of single functions.
#pragma once

#include <testing/diagnosis.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace testing {

/// Welford's state of n values.
struct WelfordState {
  double n = 0, mean = 0, m2 = 0;
};

// Each prediction is {n, mean, m2}, with n as the difference to the count named: 10⁻⁴ of a large count is many.

/// Of an update of start with these values, one after the other: the state after each of them; n less start.n.
std::vector<Candidate> mistaken_updates(const WelfordState& start, std::span<const float> values);
/// Of a merge of two states; n less a.n and b.n.
std::vector<Candidate> mistaken_merges(const WelfordState& a, const WelfordState& b);
/// Of the state that lane 0 of a warp has of its 32 lanes; n less the sum of the lanes' counts.
std::vector<Candidate> mistaken_warp_reductions(const std::vector<WelfordState>& lanes);

/// The state of online softmax: the largest of some values, and Σ exp(x − max).
struct SoftmaxState {
  float max = 0, sum = 0;
};
/// likely_mistake() of the functions of a reader, called with some values and states on which every mistake shows.
std::string likely_softmax_mistake(const std::function<SoftmaxState(float x)>& state_of,
                                   const std::function<SoftmaxState(SoftmaxState, SoftmaxState)>& merge);

}  // namespace testing
