// SPDX-License-Identifier: Apache-2.0
// Softmax with short exponentials and logarithms, or a coarse division.
#include "tests/faults/corpus/fresh/functions.h"
#include "tests/faults/corpus/fresh/softmax_fresh.h"

namespace corpus {
namespace {

template <class T>
using Row = RowFacts<T>;
using Shape = const SoftmaxShape&;

bool IsPlain(Shape s) {
  return s.terms > 1 && !s.log;
}
bool IsLog(Shape s) {
  return s.terms > 1 && s.log;
}

template <class Quotient>
Entry Divides(const char* name, Quotient quotient) {
  return SoftmaxFault(name, IsPlain, [quotient](auto& kernel) { kernel.probability = quotient; });
}
template <class Logarithm>
Entry TakesLog(const char* name, Logarithm logarithm) {
  return SoftmaxFault(name, IsLog, [logarithm](auto& kernel) { kernel.logarithm = logarithm; });
}
// `exponential(x - max)` in sum and results.
template <class Exponential>
Entry Exponentials(const char* name, Exponential exponential) {
  return SoftmaxFault(name, HasTerms<2>, [exponential]<class T>(SoftmaxKernel<T>& kernel) {
    kernel.facts = [exponential](const std::vector<T>& x) {
      Row<T> row{MaxOf(x), 0};
      for (T term : x) row.sum += exponential(term - row.max);
      return row;
    };
    kernel.probability = [exponential](T x, const Row<T>& r) { return exponential(x - r.max) / r.sum; };
  });
}

}  // namespace

std::vector<Entry> SoftmaxFreshFunctions() {
  return {
      Exponentials("fault.exp-with-short-ln2", []<class T>(T x) { return ExpWithShortLn2(x); }),
      Exponentials("fault.exp-by-table-of-64", []<class T>(T x) { return ExpByTable(x); }),
      Exponentials("fault.exp-by-parabola", []<class T>(T x) { return ExpByParabola(x); }),
      Exponentials("fault.exp-in-steps-of-1-256th", []<class T>(T x) { return ExpInSteps(x); }),
      Divides("fault.numerators-in-bf16",
              []<class T>(T x, const Row<T>& r) { return Rounded(Nearest(kBrain), std::exp(x - r.max)) / r.sum; }),
      Divides("fault.reciprocal-rounded-up-to-18-bits",
              []<class T>(T x, const Row<T>& r) {
                return std::exp(x - r.max) * Rounded({Rounding::How::kUp, {18, -126, 127}}, 1 / r.sum);
              }),
      Divides("fault.largest-result-below-1",
              []<class T>(T x, const Row<T>& r) {
                return x == r.max ? Probability(x, r) * (T{1} - T{1} / 512) : Probability(x, r);
              }),
      Divides("fault.results-in-steps-of-1-32768th",
              []<class T>(T x, const Row<T>& r) { return std::floor(Probability(x, r) * 32768) / 32768; }),
      TakesLog("fault.logarithm-added-to-maximum-in-tf32",
               []<class T>(T x, const Row<T>& r) { return x - Rounded(Nearest(kTensor), r.max + std::log(r.sum)); }),
      TakesLog("fault.logarithm-by-cubic", []<class T>(T x, const Row<T>& r) { return x - r.max - LogByCubic(r.sum); }),
      TakesLog("fault.logarithm-of-sum-in-12-bits",
               []<class T>(T x, const Row<T>& r) { return x - r.max - std::log(Rounded(TruncatedBits(12), r.sum)); }),
  };
}

}  // namespace corpus
