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

std::string NarrowOperands(Description op) {
  return AttentionSpecOf(op).IsF64() ? "f64 kernels keep P in f64" : AttentionWhyNot(op);
}

template <class Make>
Entry Legal(const char* name, Make make) {
  return AttentionEntry(name, AttentionContract, AttentionWhyNot, make);
}

template <int64_t kTile>
Entry Tiled(const char* name) {
  return Legal(name, []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = kTile}; });
}

template <class Storage>
Entry NarrowWeights(const char* name, TextOf contract) {
  return AttentionEntry(name, contract, NarrowOperands, []<class T>(std::type_identity<T>) {
    return AttentionKernel<T>{.tile = 64, .weight = RoundedTo<Storage, T>};
  });
}

template <class Storage>
Entry NarrowMatrices(const char* name, TextOf contract) {
  return AttentionEntry(name, contract, NarrowOperands, []<class T>(std::type_identity<T>) {
    return AttentionKernel<T>{
        .normalises_first = true, .stored = RoundedTo<Storage, T>, .weight = RoundedTo<Storage, T>};
  });
}

}  // namespace attention_legal

std::vector<Entry> AttentionLegalEntries() {
  using namespace attention_legal;
  return {
      Tiled<0>("legal.materialised"),
      Legal("legal.materialised-pairwise",
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.normalises_first = true, .dot = PairwiseDot<T>, .sum = PairwiseSum<T>};
            }),
      Tiled<16>("legal.flash-16"),
      Tiled<32>("legal.flash-32"),
      Tiled<64>("legal.flash-64"),
      Tiled<128>("legal.flash-128"),
      Legal("legal.flash-64-exp2",
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 64, .dot = FmaDot<T>, .exponential = ExponentialInBase2<T>};
            }),
      Legal("legal.flash-16-backwards",
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 16, .backwards = true, .dot = FmaDot<T>, .sum = PairwiseSum<T>};
            }),
      Legal("legal.flash-16-rescales-seldom",
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .slack = T{5}}; }),
      Legal("legal.split-keys-4",
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .units = 4}; }),
      NarrowWeights<F16>("legal.flash-64-f16-weights", MidF16),
      NarrowWeights<BF16>("legal.flash-64-bf16-weights", MidBF16),
      NarrowMatrices<F16>("legal.materialised-f16", MidF16),
      NarrowMatrices<BF16>("legal.materialised-bf16", MidBF16),
  };
}

}  // namespace corpus
