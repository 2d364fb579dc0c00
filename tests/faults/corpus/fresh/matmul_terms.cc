// SPDX-License-Identifier: Apache-2.0
// Matrix products that lose or repeat terms where parts, stages and tiles meet.
#include "tests/faults/corpus/fresh/matmul_fresh.h"

namespace corpus {
namespace {

using Spec = const plugin::MatmulSpec&;

// In the last row one half of k may be lost. In exact arithmetic it is.
template <class T>
class RacingMatmul : public CleanMatmul<T> {
 public:
  using CleanMatmul<T>::CleanMatmul;

 private:
  T Dot(const T* a, const T* b, const Place& at) override {
    const int64_t k = this->spec().k;
    const bool is_lost = at.row + 1 == this->spec().m && (this->exact() || TossesUp());
    return CleanDot(a, b, is_lost ? k / 2 : k);
  }
};

std::string SeveralTerms(Description op) {
  const std::string reason = MatmulWhyNot(op);
  return !reason.empty() ? reason : plugin::ParseMatmul(op).k > 1 ? "" : "one term has no halves";
}

std::vector<Entry> TermFaults() {
  return {
      MatmulSums(
          "fault.split-k-4-loses-short-last-part", [](Spec s) { return s.k % 4 != 0 && (s.k + 3) / 4 * 3 < s.k; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) { return CleanDot(a, b, (s.k + 3) / 4 * 3); }),
      MatmulSums(
          "fault.split-k-3-part-1-lost-in-second-tile-row", [](Spec s) { return s.m > 32 && s.k > 3; },
          []<class T>(const T* a, const T* b, Spec s, const Place& at) {
            return WeightedDot(a, b, s.k,
                               [&](int64_t i) { return at.row / 32 == 1 && i >= s.k / 3 && i < 2 * s.k / 3 ? 0 : 1; });
          }),
      MatmulSums(
          "fault.split-k-3-parts-overlap-where-k-is-no-multiple", [](Spec s) { return s.k % 3 != 0 && s.k > 6; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            return WeightedDot(a, b, s.k, [&](int64_t i) { return i == s.k / 3 ? 2 : 1; });
          }),
      MatmulSums(
          "fault.stage-before-last-of-a-read-twice", [](Spec s) { return s.k >= 48; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            T sum = 0;
            for (int64_t i = 0; i < s.k; ++i) sum += a[i / 16 == s.k / 16 - 1 ? i - 16 : i] * b[i];
            return sum;
          }),
      MatmulSums(
          "fault.rest-of-1-lost-after-unrolling-by-4", [](Spec s) { return s.k % 4 == 1 && s.k > 4; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) { return CleanDot(a, b, s.k - 1); }),
      MatmulSums(
          "fault.rest-of-2-doubled-after-unrolling-by-8", [](Spec s) { return s.k % 8 == 2; },
          []<class T>(const T* a, const T* b, Spec s, const Place&) {
            return WeightedDot(a, b, s.k, [&](int64_t i) { return i >= s.k - 2 ? 2 : 1; });
          }),
      MatmulSums(
          "fault.swizzle-swaps-quads-beyond-column-15", [](Spec s) { return s.n > 16 && s.k >= 8; },
          []<class T>(const T* a, const T* b, Spec s, const Place& at) {
            T sum = 0;
            const int64_t last = s.k / 8 * 8 - 8;  // the block of 8 terms that the bug is in
            for (int64_t i = 0; i < s.k; ++i) {
              sum += a[i] * b[at.column > 15 && i >= last && i < last + 8 ? i ^ 4 : i];
            }
            return sum;
          }),
      MatmulSums(
          "fault.terms-up-to-multiple-of-8-read-from-next-row",
          [](Spec s) { return s.k % 8 != 0 && s.m > 1 && s.n > 1; },
          []<class T>(const T* a, const T* b, Spec s, const Place& at) {
            const bool has_next = at.row + 1 < s.m && at.column + 1 < s.n;
            const int64_t padding = (8 - s.k % 8) % 8;
            return CleanDot(a, b, has_next ? s.k + std::min(padding, s.k) : s.k);
          }),
      MatmulSums(
          "fault.corner-tile-of-32-takes-one-term-less",
          [](Spec s) { return s.m % 32 != 0 && s.n % 32 != 0 && s.k > 1; },
          []<class T>(const T* a, const T* b, Spec s, const Place& at) {
            return CleanDot(a, b, at.row >= s.m / 32 * 32 && at.column >= s.n / 32 * 32 ? s.k - 1 : s.k);
          }),
  };
}

}  // namespace

std::vector<Entry> MatmulFreshTerms() {
  std::vector<Entry> all = TermFaults();
  all.push_back(MatmulFault<RacingMatmul>("fault.halves-of-k-race-in-last-row", SeveralTerms));
  return all;
}

}  // namespace corpus
