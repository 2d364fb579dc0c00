// SPDX-License-Identifier: Apache-2.0
// Matrix products that narrow a few of their terms, or wrap sums of integers.
#include "tests/faults/corpus/fresh/matmul_fresh.h"

namespace corpus {
namespace {

using Spec = const plugin::MatmulSpec&;

bool IsInteger(Spec s) {
  return s.a.dtype == plugin::kI8;
}
bool IsWide(Spec s) {
  return s.a.dtype == plugin::kF32 || s.a.dtype == plugin::kF64;
}

}  // namespace

std::vector<Entry> MatmulFreshBits() {
  return {
      MatmulSums(
          "fault.accumulator-through-f16-once", [](Spec s) { return !IsInteger(s) && s.k > 8; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            return CarriedDot(a, b, s.k, [&](int64_t i, T x) { return i == s.k / 2 ? Rounded(Nearest(kHalf), x) : x; });
          }),
      MatmulSums(
          "fault.accumulator-through-bf16-before-last-stage", [](Spec s) { return !IsInteger(s) && s.k > 64; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            return CarriedDot(a, b, s.k, [&](int64_t i, T x) {
              return i + 1 == (s.k - 1) / 64 * 64 ? Rounded(Nearest(kBrain), x) : x;
            });
          }),
      MatmulSums(
          "fault.accumulator-of-14-bits-every-32-terms", [](Spec s) { return !IsInteger(s) && s.k > 32; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            return CarriedDot(a, b, s.k,
                              [](int64_t i, T x) { return i % 32 == 31 ? Rounded(TruncatedBits(14), x) : x; });
          }),
      MatmulSums(
          "fault.products-of-last-16-terms-in-bf16", [](Spec s) { return !IsInteger(s) && s.k > 16; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            T sum = CleanDot(a, b, s.k - 16);
            for (int64_t i = s.k - 16; i < s.k; ++i) sum += Rounded(Nearest(kBrain), a[i] * b[i]);
            return sum;
          }),
      MatmulSums(
          "fault.first-stage-in-fp8", [](Spec s) { return plugin::IsFloat(s.a.dtype) && s.k > 16; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            return ReadDot(a, b, s.k, [](int64_t i, T x) { return i < 16 ? Rounded(Nearest(kFp8), x) : x; });
          }),
      MatmulSums(
          "fault.term-31-of-32-in-tf32", [](Spec s) { return IsWide(s) && s.k > 31; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            return ReadDot(a, b, s.k, [](int64_t i, T x) { return i % 32 == 31 ? Rounded(Nearest(kTensor), x) : x; });
          }),
      MatmulSums("fault.i8-sums-wrap-in-16-bits", IsInteger,
                 []<class T>(const T* a, const T* b, Spec s, const Place&) {
                   return CarriedDot(a, b, s.k, [](int64_t, T x) { return WrappedTo(16, x); });
                 }),
      // A sign that is moved from one factor to the other: -(-128) has no i8.
      MatmulSums("fault.i8-sign-of-minus-128-lost", IsInteger,
                 []<class T>(const T* a, const T* b, Spec s, const Place&) {
                   T sum = 0;
                   for (int64_t i = 0; i < s.k; ++i) sum += a[i] < 0 && b[i] == -128 ? a[i] * -b[i] : a[i] * b[i];
                   return sum;
                 }),
      MatmulSums("fault.i8-products-of-12-bits", IsInteger,
                 []<class T>(const T* a, const T* b, Spec s, const Place&) {
                   T sum = 0;
                   for (int64_t i = 0; i < s.k; ++i) sum += Rounded(TruncatedBits(12), a[i] * b[i]);
                   return sum;
                 }),
  };
}

}  // namespace corpus
