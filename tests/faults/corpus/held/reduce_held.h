// SPDX-License-Identifier: Apache-2.0
// Reductions whose sums are rows of tables.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/corpus/held/struck.h"
#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/reduce_plan.h"

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

// Why this is no reduction of one of the kinds over at least so many floating-point terms; "" when it is.
inline std::string OfKinds(Description op, std::initializer_list<ReduceKind> kinds, int64_t least = 2) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  if (std::ranges::find(kinds, s.kind) == kinds.end()) return "this is a bug of another kind";
  return s.count >= least && plugin::IsFloat(s.in) ? ReduceWhyNot(op) : "this needs more floating-point terms";
}

// A fault whose `value(terms, context)` gives an output.
template <class Value>
Entry ReduceFault(const char* name, TextOf why_not, Value value) {
  return ReduceEntry(name, ReduceContract, why_not,
                     [value]<class T>(std::type_identity<T>) { return ReduceSchedule<T>{value}; });
}

template <class T>
using Terms = std::vector<T>;

std::vector<Entry> ReduceHeldFaults();      // terms, arithmetic, memory
std::vector<Entry> ReduceHeldKinds();       // what sums, means, norms, products and logarithms alone do
std::vector<Entry> ReduceHeldSelections();  // extremes and their indices
std::vector<Entry> ReduceHeldLegal();

}  // namespace corpus
