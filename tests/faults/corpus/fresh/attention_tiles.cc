// SPDX-License-Identifier: Apache-2.0
// Attention whose tiles of keys are skipped by a wrong test.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/attention_held.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;
using Row = const Query&;

template <class Strikes, class Sees>
Entry Visibility(const char* name, Strikes strikes, Sees sees) {
  Entry entry = AttentionEntry(name, AttentionContract, nullptr,
                               [sees]<class T>(std::type_identity<T>) { return AttentionKernel<T>{.sees = sees}; });
  entry.why_not = [strikes](Description op) {
    return AttentionWhere(op, strikes, "this attention has no place for the bug");
  };
  return entry;
}

// Whether some row's diagonal is the first key of a later tile of 32.
bool BeginsTiles(Spec s) {
  Query q;
  for (; q.row < s.l; ++q.row) {
    const int64_t key = DiagonalOf(s, q);
    if (key > 0 && key < s.s && key % 32 == 0) return s.causal;
  }
  return false;
}

}  // namespace

std::vector<Entry> AttentionFreshTiles() {
  return {
      // A tile is entered while its first key lies below the diagonal; one that begins on it is left out.
      Visibility("fault.tile-of-32-that-begins-on-diagonal-skipped", BeginsTiles,
                 [](Spec s, Row q, int64_t j) {
                   return IsInRange(s, q, j) && (j != DiagonalOf(s, q) || j % 32 != 0 || j == 0);
                 }),
      Visibility(
          "fault.diagonal-of-first-row-of-8", [](Spec s) { return s.causal && s.l > 8 && s.s > 8; },
          [](Spec s, Row q, int64_t j) {
            const Query first{q.batch, q.head, q.row / 8 * 8};
            return IsInRange(s, first, j);
          }),
      // The first tile that a window needs, found for the last row of eight.
      Visibility(
          "fault.first-tile-of-window-by-last-row-of-8",
          [](Spec s) { return s.window > 0 && s.l > 8 && s.s > s.window; },
          [](Spec s, Row q, int64_t j) {
            const int64_t last = std::min(q.row / 8 * 8 + 7, s.l - 1);
            return IsInRange(s, q, j) && (j == DiagonalOf(s, q) || j >= s.KeysOf(last).first);
          }),
      Visibility(
          "fault.last-tile-of-16-skipped-by-rows-below-16",
          [](Spec s) { return s.l > 16 && s.s > 16 && !s.causal && s.window == 0; },
          [](Spec s, Row q, int64_t j) {
            return IsInRange(s, q, j) && (q.row >= 16 || j < (s.s - 1) / 16 * 16 || j == DiagonalOf(s, q));
          }),
      Visibility(
          "fault.single-query-misses-newest-key", [](Spec s) { return s.l == 1 && s.s > 1; },
          [](Spec s, Row q, int64_t j) { return IsInRange(s, q, j) && j + 1 < s.s; }),
      Visibility(
          "fault.unrolled-keys-leave-rest-3-of-4", [](Spec s) { return s.s % 4 == 3 && s.s > 4; },
          [](Spec s, Row q, int64_t j) { return IsInRange(s, q, j) && (j < s.s / 4 * 4 || j == DiagonalOf(s, q)); }),
      Visibility(
          "fault.odd-heads-of-later-batches-miss-first-tile-of-4",
          [](Spec s) { return s.batch > 1 && s.heads > 1 && s.s > 8; },
          [](Spec s, Row q, int64_t j) {
            const bool misses = q.batch > 0 && q.head % 2 == 1 && j < 4 && DiagonalOf(s, q) > 4;
            return IsInRange(s, q, j) && !misses;
          }),
  };
}

}  // namespace corpus
