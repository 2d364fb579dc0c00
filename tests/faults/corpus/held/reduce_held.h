// SPDX-License-Identifier: Apache-2.0
// Reductions whose sums are rows of tables.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/reduce_plan.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

template <class T>
T SumBy(const Summation& sum, const std::vector<T>& x) {
  return SumOf<T>(sum, x.data(), nullptr, std::ssize(x));
}

// Sums, means, norms and logsumexp with their sums as `sum` says; other kinds without a change.
template <class T>
T ReduceBy(const Summation& sum, std::vector<T> x, const ReduceContext& c) {
  switch (c.spec->kind) {
    case ReduceKind::kSum:
      return SumBy(sum, x);
    case ReduceKind::kMean:
      return SumBy(sum, x) / static_cast<T>(c.spec->count);
    case ReduceKind::kL2:
      for (T& term : x) term *= term;
      return std::sqrt(SumBy(sum, x));
    case ReduceKind::kLogSumExp: {
      const T max = SequentialOrder::Fold(x, c.run, [](T a, T b) { return Extreme<1>(a, b, false); });
      if (!std::isfinite(max)) return max;
      for (T& term : x) term = std::exp(term - max);
      return max + std::log(SumBy(sum, x));
    }
    default:
      return CleanReduce(std::move(x), c);
  }
}

template <class T>
using Terms = std::vector<T>;

std::vector<Entry> ReduceHeldFaults();      // terms, arithmetic, memory
std::vector<Entry> ReduceHeldKinds();       // what sums, means, norms, products and logarithms alone do
std::vector<Entry> ReduceHeldSelections();  // extremes and their indices
std::vector<Entry> ReduceHeldLegal();

}  // namespace corpus
