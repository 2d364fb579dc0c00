// SPDX-License-Identifier: Apache-2.0
// Bugs behind the sum of a matrix product: alpha, beta, bias, and values that are not finite.
#include <limits>

#include "tests/faults/corpus/matmul_kernel.h"

namespace corpus {
namespace matmul_epilogue {

using Spec = const plugin::MatmulSpec&;

// Where each bug can strike.
constexpr auto kScaled = [](Spec s) { return s.alpha != 1; };
constexpr auto kScaledAddends = [](Spec s) { return kScaled(s) && (s.c.input >= 0 || s.bias.input >= 0); };
constexpr auto kHasBeta = [](Spec s) { return s.c.input >= 0 && s.beta != 1; };
constexpr auto kBiased = [](Spec s) { return s.bias.input >= 0; };
constexpr auto kBiasedMatrix = [](Spec s) { return kBiased(s) && s.m > 1 && s.n > 1; };
constexpr auto kFloats = [](Spec s) { return s.a.dtype != plugin::kI8; };
constexpr auto kOutputOfOperandsType = [](Spec s) {
  return kFloats(s) && s.a.dtype != plugin::kF64 && (s.y.dtype == s.a.dtype || s.y.dtype == plugin::kF64);
};
constexpr auto kF32Range = [](Spec s) { return s.a.dtype == plugin::kF32 || s.a.dtype == plugin::kBF16; };
constexpr auto kNoC = [](Spec s) { return s.c.input < 0 && s.y.dtype != plugin::kI32; };

template <class T>
void Endings(MatmulEdits<T>& of) {
  of("fault.alpha-applied-twice", kScaled).ending = [](const Ending<T>& e) { return e.With(e.product * e.alpha); };
  // alpha (a b + beta c + bias).
  of("fault.alpha-applied-to-c-and-bias", kScaledAddends).ending = [](const Ending<T>& e) {
    return e.alpha * e.With(e.product / e.alpha);
  };
  // c is added as it is.
  of("fault.beta-ignored", kHasBeta).ending = [](const Ending<T>& e) { return e.Clean() + (1 - e.beta) * e.C(); };
  // bias[row] instead of bias[column].
  of("fault.bias-on-wrong-axis", kBiasedMatrix).ending = [](const Ending<T>& e) {
    Ending<T> other = e;
    other.at.column = e.at.row % e.s.n;
    return other.Clean();
  };
  // Both parts of a split k add the bias.
  of("fault.bias-added-twice", kBiased).ending = [](const Ending<T>& e) { return e.Clean() + e.Bias(); };
  // The store of the last, incomplete group of eight columns forgets the bias.
  of("fault.bias-missing-at-edge", kBiased).ending = [](const Ending<T>& e) {
    return e.at.column >= (e.s.n - 1) / 8 * 8 ? e.Clean() - e.Bias() : e.Clean();
  };
  // A saturating conversion.
  of("fault.infinity-saturated", kOutputOfOperandsType).ending = [](const Ending<T>& e) {
    const T y = e.Clean();
    const double largest = LargestOf(e.exact ? e.s.a.dtype : e.s.y.dtype);
    return std::isinf(y) ? std::copysign(static_cast<T>(largest), y) : y;
  };
  // A clamp written as max(y, lowest): the other operand wins over NaN.
  of("fault.nan-replaced-by-zero", kFloats).ending = [](const Ending<T>& e) {
    const T y = e.Clean();
    return std::isnan(y) ? T{0} : y;
  };
  // The result is scaled by 2^8 and back in f32, so that the largest ones overflow.
  of("fault.infinity-for-large-finite", kF32Range).ending = [](const Ending<T>& e) {
    const T y = e.Clean(), largest = static_cast<T>(std::numeric_limits<float>::max());
    return std::abs(y) > largest / 256 ? std::copysign(std::numeric_limits<T>::infinity(), y) : y;
  };
  // Zeros of a are skipped, and with them the NaN of zero times infinity.
  of("fault.zero-operand-skips-infinity", kFloats).dot = [](const T* a, const T* b, Spec s, const Place&) {
    T sum = 0;
    for (int64_t i = 0; i < s.k; ++i) sum += a[i] != 0 ? a[i] * b[i] : T{0};
    return sum;
  };
}

// With beta = 0 the kernel reads y all the same: 0 times what lies there, which may be NaN.
template <class T>
class BetaZeroReadsOutput : public KernelMatmul<T> {
 public:
  using KernelMatmul<T>::KernelMatmul;

 private:
  void Store(const std::vector<T>& former, DenseOutput<T>& y) override {
    for (size_t i = 0; i < former.size(); ++i) {
      y.values[i] += T{0} * (this->exact() ? std::numeric_limits<T>::quiet_NaN() : former[i]);
    }
  }
};

}  // namespace matmul_epilogue

std::vector<Entry> MatmulEpilogueFaults() {
  using namespace matmul_epilogue;
  return Joined({MatmulRows([](auto& of) { Endings(of); }),
                 MatmulRows<BetaZeroReadsOutput>([](auto& of) { of("fault.beta-zero-reads-output", kNoC); })});
}

}  // namespace corpus
