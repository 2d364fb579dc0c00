// SPDX-License-Identifier: Apache-2.0
// The frame of every softmax of the corpus: maximum and sum of exponentials of a row, then each of its results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/edits.h"
#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

struct SoftmaxShape {
  int64_t rows = 1, terms = 1, inner = 1;  // inner: elements from one term of a row to the next
  bool log = false;
  plugin::DType type;

  // Index of term k of a row; rows are row-major over the other axes.
  int64_t At(int64_t row, int64_t k) const { return (row / inner * terms + k) * inner + row % inner; }
};
SoftmaxShape SoftmaxShapeOf(Description op);

// The greater one; NaN when either is.
template <class T>
T LargerOrNan(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
}

template <class T>
T MaxOf(const std::vector<T>& x) {
  T max = -std::numeric_limits<T>::infinity();
  for (T term : x) max = LargerOrNan(max, term);
  return max;
}

template <class T>
struct RowFacts {
  T max = 0, sum = 0;
};

template <class T>
T ExponentialFrom(T x, T max) {
  return std::exp(x - max);
}

template <class T>
RowFacts<T> TwoPasses(const std::vector<T>& x) {
  RowFacts<T> row{MaxOf(x), 0};
  for (T term : x) row.sum += std::exp(term - row.max);
  return row;
}

template <class T>
T Probability(T x, const RowFacts<T>& row) {
  return std::exp(x - row.max) / row.sum;
}

template <class T>
T LogProbability(T x, const RowFacts<T>& row) {
  return x - row.max - std::log(row.sum);
}

template <class T>
struct SoftmaxKernel {
  std::function<RowFacts<T>(const std::vector<T>& row)> facts = TwoPasses<T>;
  std::function<T(T x, const RowFacts<T>&)> probability = Probability<T>;
  std::function<T(T x, const RowFacts<T>&)> logarithm = LogProbability<T>;
  std::function<int64_t(const SoftmaxShape&, int64_t row, int64_t k)> at = [](const SoftmaxShape& s, int64_t row,
                                                                              int64_t k) { return s.At(row, k); };
  std::function<T(T)> cast = [](T x) { return x; };
};

template <class T>
class SoftmaxPlan : public DensePlan<T> {
 public:
  SoftmaxPlan(Description op, bool exact, SoftmaxKernel<T> kernel)
      : DensePlan<T>(op, exact), kernel_(kernel), shape_(SoftmaxShapeOf(op)) {}

 private:
  void Compute(std::span<const std::vector<T>> inputs, DenseOutput<T>& output) final {
    std::vector<T> x(static_cast<size_t>(shape_.terms));
    for (int64_t row = 0; row < shape_.rows; ++row) {
      for (int64_t k = 0; k < shape_.terms; ++k) {
        x[static_cast<size_t>(k)] = kernel_.cast(inputs[0][static_cast<size_t>(kernel_.at(shape_, row, k))]);
      }
      const RowFacts<T> facts = kernel_.facts(x);
      for (int64_t k = 0; k < shape_.terms; ++k) {
        const T term = x[static_cast<size_t>(k)];
        output.values[static_cast<size_t>(kernel_.at(shape_, row, k))] =
            shape_.log ? kernel_.logarithm(term, facts) : kernel_.probability(term, facts);
      }
    }
  }

  const SoftmaxKernel<T> kernel_;
  const SoftmaxShape shape_;
};

// "" for what the corpus decodes; the output may be f64, for effects.
std::string SoftmaxWhyNot(Description op);
// `acc` (f64 keeps its own) with math=2, masked=nan and `more` behind.
std::string SoftmaxClass(Description op, const std::string& acc, const std::string& more);
std::string SoftmaxContract(Description op);  // f32acc or f64, with det and batchinv

template <class T>
using SoftmaxEdits = Edits<SoftmaxKernel<T>, SoftmaxShape>;
template <template <class> class Plan = SoftmaxPlan, class Fill>
std::vector<Entry> SoftmaxRows(Fill fill) {
  return EntriesOf<Plan, SoftmaxKernel>("softmax", SoftmaxContract, SoftmaxWhyNot, SoftmaxShapeOf, fill);
}
// Bugs of what the correct kernel reads or stores.
inline std::vector<Entry> SoftmaxIoBugs(std::span<const IoBug> bugs) {
  return StruckEntries<SoftmaxPlan, SoftmaxKernel>("softmax", SoftmaxContract, SoftmaxWhyNot, bugs);
}

}  // namespace corpus
