/// How the references add up.
#pragma once

#include <cstddef>

namespace testing {

/// Σ term(i) for begin ≤ i < end, halves first: its error grows with the logarithm of the number of terms.
template <class Term>
double pairwise_sum(std::size_t begin, std::size_t end, const Term& term) {
  if (end - begin <= 8) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += term(i);
    return sum;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  return pairwise_sum(begin, middle, term) + pairwise_sum(middle, end, term);
}

}  // namespace testing
