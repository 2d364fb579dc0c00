// SPDX-License-Identifier: Apache-2.0
// Correct attention: the score matrix whole or in tiles of keys, in several orders, with P as kernels keep it.
#include "tests/faults/corpus/attention_plan.h"

namespace corpus {
namespace attention_legal {

using plugin::BF16;
using plugin::F16;

template <class T>
T PairwiseDot(const T* a, const T* b, int64_t n) {
  if (n == 1) return a[0] * b[0];
  return PairwiseDot(a, b, n / 2) + PairwiseDot(a + n / 2, b + n / 2, n - n / 2);
}

template <class T>
T FmaDot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

template <class T>
T Pairwise(const T* x, size_t n) {
  if (n == 0) return 0;
  return n == 1 ? x[0] : Pairwise(x, n / 2) + Pairwise(x + n / 2, n - n / 2);
}

template <class T>
T PairwiseSum(const std::vector<T>& x) {
  return Pairwise(x.data(), x.size());
}

// exp(score - max) by exp2, the factor log2 e applied to both apart, as FlashAttention has it. A maximum of -inf is
// taken for 0, so that a row of such scores sums to zero.
template <class T>
T ExponentialInBase2(T score, T max) {
  constexpr T kLog2E = static_cast<T>(1.4426950408889634074L);
  const T scaled = max * kLog2E;
  return std::exp2(std::fma(score, kLog2E, std::isinf(scaled) && scaled < 0 ? T{0} : -scaled));
}

std::string MidF16(Description op) {
  return AttentionClass(op, ";mid=f16;det=yes;batchinv=yes");
}
std::string MidBF16(Description op) {
  return AttentionClass(op, ";mid=bf16;det=yes;batchinv=yes");
}

constexpr auto kNarrow = [](const AttentionSpec& s) { return !s.IsF64(); };

template <class T>
void Legal(AttentionEdits<T>& of) {
  of("legal.materialised");
  of("legal.materialised-pairwise") = {.normalises_first = true, .dot = PairwiseDot<T>, .sum = PairwiseSum<T>};
  of("legal.flash-16").tile = 16;
  of("legal.flash-32").tile = 32;
  of("legal.flash-64").tile = 64;
  of("legal.flash-128").tile = 128;
  of("legal.flash-64-exp2") = {.tile = 64, .dot = FmaDot<T>, .exponential = ExponentialInBase2<T>};
  of("legal.flash-16-backwards") = {.tile = 16, .backwards = true, .dot = FmaDot<T>, .sum = PairwiseSum<T>};
  of("legal.flash-16-rescales-seldom") = {.tile = 16, .slack = T{5}};
  of("legal.split-keys-4") = {.tile = 16, .units = 4};
  of("legal.flash-64-f16-weights", kNarrow, MidF16) = {.tile = 64, .weight = RoundedTo<F16, T>};
  of("legal.flash-64-bf16-weights", kNarrow, MidBF16) = {.tile = 64, .weight = RoundedTo<BF16, T>};
  of("legal.materialised-f16", kNarrow, MidF16) = {
      .normalises_first = true, .stored = RoundedTo<F16, T>, .weight = RoundedTo<F16, T>};
  of("legal.materialised-bf16", kNarrow, MidBF16) = {
      .normalises_first = true, .stored = RoundedTo<BF16, T>, .weight = RoundedTo<BF16, T>};
}

}  // namespace attention_legal

std::vector<Entry> AttentionLegalEntries() {
  return AttentionRows([](auto& of) { attention_legal::Legal(of); });
}

}  // namespace corpus
