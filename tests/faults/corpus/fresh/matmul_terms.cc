// SPDX-License-Identifier: Apache-2.0
// Matrix products that lose or repeat terms where parts, stages and tiles meet.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/matmul_kernel.h"

namespace corpus {
namespace {

using Spec = const plugin::MatmulSpec&;
using At = const Place&;

// In the last row one half of k may be lost. In exact arithmetic it is.
template <class T>
class RacingMatmul : public KernelMatmul<T> {
 public:
  using KernelMatmul<T>::KernelMatmul;

 private:
  T Dot(const T* a, const T* b, const Place& at) override {
    const int64_t k = this->spec().k;
    const bool is_lost = at.row + 1 == this->spec().m && (this->exact() || TossesUp());
    return CleanDot(a, b, is_lost ? k / 2 : k);
  }
};

template <class T>
void TermFaults(MatmulEdits<T>& of) {
  of("fault.split-k-4-loses-short-last-part", [](Spec s) { return s.k % 4 != 0 && (s.k + 3) / 4 * 3 < s.k; }).dot =
      [](const T* a, const T* b, Spec s, At) { return CleanDot(a, b, (s.k + 3) / 4 * 3); };
  of("fault.split-k-3-part-1-lost-in-second-tile-row", [](Spec s) { return s.m > 32 && s.k > 3; }).dot =
      [](const T* a, const T* b, Spec s, At at) {
        return WeightedDot(a, b, s.k,
                           [&](int64_t i) { return at.row / 32 == 1 && i >= s.k / 3 && i < 2 * s.k / 3 ? 0 : 1; });
      };
  of("fault.split-k-3-parts-overlap-where-k-is-no-multiple", [](Spec s) { return s.k % 3 != 0 && s.k > 6; }).dot =
      [](const T* a, const T* b, Spec s, At) {
        return WeightedDot(a, b, s.k, [&](int64_t i) { return i == s.k / 3 ? 2 : 1; });
      };
  of("fault.stage-before-last-of-a-read-twice", [](Spec s) { return s.k >= 48; }).dot = [](const T* a, const T* b,
                                                                                           Spec s, At) {
    T sum = 0;
    for (int64_t i = 0; i < s.k; ++i) sum += a[i / 16 == s.k / 16 - 1 ? i - 16 : i] * b[i];
    return sum;
  };
  of("fault.rest-of-1-lost-after-unrolling-by-4", [](Spec s) { return s.k % 4 == 1 && s.k > 4; }).dot =
      [](const T* a, const T* b, Spec s, At) { return CleanDot(a, b, s.k - 1); };
  of("fault.rest-of-2-doubled-after-unrolling-by-8", [](Spec s) { return s.k % 8 == 2; }).dot =
      [](const T* a, const T* b, Spec s, At) {
        return WeightedDot(a, b, s.k, [&](int64_t i) { return i >= s.k - 2 ? 2 : 1; });
      };
  of("fault.swizzle-swaps-quads-beyond-column-15", [](Spec s) { return s.n > 16 && s.k >= 8; }).dot =
      [](const T* a, const T* b, Spec s, At at) {
        T sum = 0;
        const int64_t last = s.k / 8 * 8 - 8;  // the block of 8 terms that the bug is in
        for (int64_t i = 0; i < s.k; ++i) {
          sum += a[i] * b[at.column > 15 && i >= last && i < last + 8 ? i ^ 4 : i];
        }
        return sum;
      };
  of("fault.terms-up-to-multiple-of-8-read-from-next-row", [](Spec s) {
    return s.k % 8 != 0 && s.m > 1 && s.n > 1;
  }).dot = [](const T* a, const T* b, Spec s, At at) {
    const bool has_next = at.row + 1 < s.m && at.column + 1 < s.n;
    const int64_t padding = (8 - s.k % 8) % 8;
    return CleanDot(a, b, has_next ? s.k + std::min(padding, s.k) : s.k);
  };
  of("fault.corner-tile-of-32-takes-one-term-less", [](Spec s) {
    return s.m % 32 != 0 && s.n % 32 != 0 && s.k > 1;
  }).dot = [](const T* a, const T* b, Spec s, At at) {
    return CleanDot(a, b, at.row >= s.m / 32 * 32 && at.column >= s.n / 32 * 32 ? s.k - 1 : s.k);
  };
}

}  // namespace

std::vector<Entry> MatmulFreshTerms() {
  return Joined({MatmulRows([](auto& of) { TermFaults(of); }), MatmulRows<RacingMatmul>([](auto& of) {
                   of("fault.halves-of-k-race-in-last-row", [](Spec s) { return s.k > 1; });
                 })});
}

}  // namespace corpus
