// SPDX-License-Identifier: Apache-2.0
// Softmax: arguments, sums and logarithms that are not the row's own.
#include "tests/faults/corpus/later/later.h"
#include "tests/faults/corpus/softmax_plan.h"

namespace corpus {
namespace {

using Shape = const SoftmaxShape&;

template <int64_t kLeast>
bool Has(Shape s) {
  return s.terms >= kLeast;
}
bool IsLog(Shape s) {
  return s.log && s.terms > 1;
}

template <class T>
T InE4m3(T x) {
  return Rounded(Nearest(kFp8), x);
}

template <class T>
void Kernels(SoftmaxEdits<T>& of) {
  of("fault.arguments-halved", Has<2>).cast = [](T x) { return x / 2; };
  of("fault.sum-begins-at-1", Has<2>).facts = [](const std::vector<T>& x) {
    RowFacts<T> row = TwoPasses(x);
    row.sum += 1;
    return row;
  };
  of("fault.logarithm-of-sum-in-base-2", IsLog).logarithm = [](T x, const RowFacts<T>& row) {
    return x - row.max - std::log2(row.sum);
  };
  of("fault.logarithm-forgets-maximum", IsLog).logarithm = [](T x, const RowFacts<T>& row) {
    return x - std::log(row.sum);
  };
  of("fault.sum-of-even-terms-alone", Has<2>).facts = [](const std::vector<T>& x) {
    RowFacts<T> row{MaxOf(x), 0};
    for (size_t i = 0; i < x.size(); i += 2) row.sum += std::exp(x[i] - row.max);
    return row;
  };
  of("fault.sum-of-row-before", [](Shape s) { return s.rows > 2 && s.terms > 1; }).facts =
      [held = 1.0](const std::vector<T>& x) mutable {
        RowFacts<T> row = TwoPasses(x);
        const double own = static_cast<double>(row.sum);
        row.sum = static_cast<T>(std::exchange(held, std::isfinite(own) ? own : 1.0));
        return row;
      };
  auto& narrow = of("fault.exponentials-in-e4m3", Has<2>);
  narrow.facts = [](const std::vector<T>& x) {
    RowFacts<T> row{MaxOf(x), 0};
    for (T term : x) row.sum += InE4m3(std::exp(term - row.max));
    return row;
  };
  narrow.probability = [](T x, const RowFacts<T>& row) { return InE4m3(std::exp(x - row.max)) / row.sum; };
  of("fault.divided-by-mean-of-exponentials", Has<2>).facts = [](const std::vector<T>& x) {
    RowFacts<T> row = TwoPasses(x);
    row.sum /= static_cast<T>(x.size());
    return row;
  };
}

template <class T>
using AroundSoftmax = AroundPlan<SoftmaxPlan, SoftmaxKernel, T>;

template <class T>
void AroundKernels(Edits<Around<T>, SoftmaxShape>& of) {
  of("fault.results-rotated-by-one", [](Shape s) { return s.terms > 2 && s.inner == 1; }).store = [](std::vector<T>& y,
                                                                                                     Description op) {
    const int64_t n = op.outputs()[0].shape.back();
    const std::vector<T> right = y;
    for (int64_t i = 0; i < std::ssize(y); ++i)
      y[static_cast<size_t>(i)] = right[static_cast<size_t>(i / n * n + (i + 1) % n)];
  };
}

}  // namespace

std::vector<Entry> SoftmaxLater() {
  return Joined({SoftmaxRows([](auto& of) { Kernels(of); }),
                 EntriesOf<AroundSoftmax, Around>("softmax", SoftmaxContract, SoftmaxWhyNot, SoftmaxShapeOf,
                                                  [](auto& of) { AroundKernels(of); })});
}

}  // namespace corpus
