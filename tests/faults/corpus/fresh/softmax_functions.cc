// SPDX-License-Identifier: Apache-2.0
// Softmax with short exponentials and logarithms, or a coarse division.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/fresh/functions.h"
#include "tests/faults/corpus/held/softmax_held.h"

namespace corpus {
namespace {

using Shape = const SoftmaxShape&;
template <class T>
using Row = RowFacts<T>;

constexpr auto kSeveral = [](Shape s) { return s.terms > 1; };
constexpr auto kPlain = [](Shape s) { return s.terms > 1 && !s.log; };
constexpr auto kLog = [](Shape s) { return s.terms > 1 && s.log; };

template <class T>
void Functions(SoftmaxEdits<T>& of) {
  // In the sum and the results.
  const auto exponential = [&of](const char* name, T (*function)(T)) {
    SoftmaxKernel<T>& kernel = of(name, kSeveral);
    kernel.facts = [function](const std::vector<T>& x) {
      Row<T> row{MaxOf(x), 0};
      for (T term : x) row.sum += function(term - row.max);
      return row;
    };
    kernel.probability = [function](T x, const Row<T>& r) { return function(x - r.max) / r.sum; };
  };
  exponential("fault.exp-with-short-ln2", ExpWithShortLn2<T>);
  exponential("fault.exp-by-table-of-64", ExpByTable<T>);
  exponential("fault.exp-by-parabola", ExpByParabola<T>);
  exponential("fault.exp-in-steps-of-1-256th", ExpInSteps<T>);
  of("fault.numerators-in-bf16", kPlain).probability = [](T x, const Row<T>& r) {
    return Rounded(Nearest(kBrain), std::exp(x - r.max)) / r.sum;
  };
  of("fault.reciprocal-rounded-up-to-18-bits", kPlain).probability = [](T x, const Row<T>& r) {
    return std::exp(x - r.max) * Rounded({Rounding::How::kUp, {18, -126, 127}}, 1 / r.sum);
  };
  of("fault.largest-result-below-1", kPlain).probability = [](T x, const Row<T>& r) {
    return x == r.max ? Probability(x, r) * (T{1} - T{1} / 512) : Probability(x, r);
  };
  of("fault.results-in-steps-of-1-32768th", kPlain).probability = [](T x, const Row<T>& r) {
    return std::floor(Probability(x, r) * 32768) / 32768;
  };
  of("fault.logarithm-added-to-maximum-in-tf32", kLog).logarithm = [](T x, const Row<T>& r) {
    return x - Rounded(Nearest(kTensor), r.max + std::log(r.sum));
  };
  of("fault.logarithm-by-cubic", kLog).logarithm = [](T x, const Row<T>& r) { return x - r.max - LogByCubic(r.sum); };
  of("fault.logarithm-of-sum-in-12-bits", kLog).logarithm = [](T x, const Row<T>& r) {
    return x - r.max - std::log(Rounded(TruncatedBits(12), r.sum));
  };
}

}  // namespace

std::vector<Entry> SoftmaxFreshFunctions() {
  return SoftmaxRows([](auto& of) { Functions(of); });
}

}  // namespace corpus
