// SPDX-License-Identifier: Apache-2.0
// Matrix products that narrow a few of their terms, or wrap sums of integers.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/matmul_kernel.h"

namespace corpus {
namespace {

using Spec = const plugin::MatmulSpec&;
using At = const Place&;

bool IsInteger(Spec s) {
  return s.a.dtype == plugin::kI8;
}
template <int64_t kLeast>
bool HasFloatTerms(Spec s) {
  return !IsInteger(s) && s.k >= kLeast;
}
// The operands have more bits than fp8, or than f16 and bf16.
bool IsWideEnough(Spec s) {
  return plugin::IsFloat(s.a.dtype) && s.k > 16;
}
bool IsWide(Spec s) {
  return (s.a.dtype == plugin::kF32 || s.a.dtype == plugin::kF64) && s.k > 31;
}

template <class T>
void Bits(MatmulEdits<T>& of) {
  of("fault.accumulator-through-f16-once", HasFloatTerms<9>).dot = [](const T* a, const T* b, Spec s, At) {
    return CarriedDot(a, b, s.k, [&](int64_t i, T x) { return i == s.k / 2 ? Rounded(Nearest(kHalf), x) : x; });
  };
  of("fault.accumulator-through-bf16-before-last-stage", HasFloatTerms<65>).dot = [](const T* a, const T* b, Spec s,
                                                                                     At) {
    return CarriedDot(a, b, s.k,
                      [&](int64_t i, T x) { return i + 1 == (s.k - 1) / 64 * 64 ? Rounded(Nearest(kBrain), x) : x; });
  };
  of("fault.accumulator-of-14-bits-every-32-terms", HasFloatTerms<33>).dot = [](const T* a, const T* b, Spec s, At) {
    return CarriedDot(a, b, s.k, [](int64_t i, T x) { return i % 32 == 31 ? Rounded(TruncatedBits(14), x) : x; });
  };
  of("fault.products-of-last-16-terms-in-bf16", HasFloatTerms<17>).dot = [](const T* a, const T* b, Spec s, At) {
    T sum = CleanDot(a, b, s.k - 16);
    for (int64_t i = s.k - 16; i < s.k; ++i) sum += Rounded(Nearest(kBrain), a[i] * b[i]);
    return sum;
  };
  of("fault.first-stage-in-fp8", IsWideEnough).dot = [](const T* a, const T* b, Spec s, At) {
    return ReadDot(a, b, s.k, [](int64_t i, T x) { return i < 16 ? Rounded(Nearest(kFp8), x) : x; });
  };
  of("fault.term-31-of-32-in-tf32", IsWide).dot = [](const T* a, const T* b, Spec s, At) {
    return ReadDot(a, b, s.k, [](int64_t i, T x) { return i % 32 == 31 ? Rounded(Nearest(kTensor), x) : x; });
  };
  of("fault.i8-sums-wrap-in-16-bits", IsInteger).dot = [](const T* a, const T* b, Spec s, At) {
    return CarriedDot(a, b, s.k, [](int64_t, T x) { return WrappedTo(16, x); });
  };
  // A sign that is moved from one factor to the other: -(-128) has no i8.
  of("fault.i8-sign-of-minus-128-lost", IsInteger).dot = [](const T* a, const T* b, Spec s, At) {
    T sum = 0;
    for (int64_t i = 0; i < s.k; ++i) sum += a[i] < 0 && b[i] == -128 ? a[i] * -b[i] : a[i] * b[i];
    return sum;
  };
  of("fault.i8-products-of-12-bits", IsInteger).dot = [](const T* a, const T* b, Spec s, At) {
    T sum = 0;
    for (int64_t i = 0; i < s.k; ++i) sum += Rounded(TruncatedBits(12), a[i] * b[i]);
    return sum;
  };
}

}  // namespace

std::vector<Entry> MatmulFreshBits() {
  return MatmulRows([](auto& of) { Bits(of); });
}

}  // namespace corpus
