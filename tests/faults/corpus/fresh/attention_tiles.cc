// SPDX-License-Identifier: Apache-2.0
// Attention whose tiles of keys are skipped by a wrong test.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/attention_held.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;
using Row = const Query&;

// Whether some row's diagonal is the first key of a later tile of 32.
bool BeginsTiles(Spec s) {
  Query q;
  for (; q.row < s.l; ++q.row) {
    const int64_t key = DiagonalOf(s, q);
    if (key > 0 && key < s.s && key % 32 == 0) return s.causal;
  }
  return false;
}

constexpr auto kCausalBeyond8 = [](Spec s) { return s.causal && s.l > 8 && s.s > 8; };
constexpr auto kWindowedBeyond8 = [](Spec s) { return s.window > 0 && s.l > 8 && s.s > s.window; };
constexpr auto kOpenBeyond16 = [](Spec s) { return s.l > 16 && s.s > 16 && !s.causal && s.window == 0; };
constexpr auto kSeveralHeadsOfBatches = [](Spec s) { return s.batch > 1 && s.heads > 1 && s.s > 8; };

template <class T>
void Tiles(AttentionEdits<T>& of) {
  // A tile is entered while its first key lies below the diagonal; one that begins on it is left out.
  of("fault.tile-of-32-that-begins-on-diagonal-skipped", BeginsTiles).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) && (j != DiagonalOf(s, q) || j % 32 != 0 || j == 0);
  };
  of("fault.diagonal-of-first-row-of-8", kCausalBeyond8).sees = [](Spec s, Row q, int64_t j) {
    const Query first{q.batch, q.head, q.row / 8 * 8};
    return IsInRange(s, first, j);
  };
  // The first tile that a window needs, found for the last row of eight.
  of("fault.first-tile-of-window-by-last-row-of-8", kWindowedBeyond8).sees = [](Spec s, Row q, int64_t j) {
    const int64_t last = std::min(q.row / 8 * 8 + 7, s.l - 1);
    return IsInRange(s, q, j) && (j == DiagonalOf(s, q) || j >= s.KeysOf(last).first);
  };
  of("fault.last-tile-of-16-skipped-by-rows-below-16", kOpenBeyond16).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) && (q.row >= 16 || j < (s.s - 1) / 16 * 16 || j == DiagonalOf(s, q));
  };
  of("fault.single-query-misses-newest-key", [](Spec s) { return s.l == 1 && s.s > 1; }).sees =
      [](Spec s, Row q, int64_t j) { return IsInRange(s, q, j) && j + 1 < s.s; };
  of("fault.unrolled-keys-leave-rest-3-of-4", [](Spec s) { return s.s % 4 == 3 && s.s > 4; }).sees =
      [](Spec s, Row q, int64_t j) { return IsInRange(s, q, j) && (j < s.s / 4 * 4 || j == DiagonalOf(s, q)); };
  of("fault.odd-heads-of-later-batches-miss-first-tile-of-4", kSeveralHeadsOfBatches).sees = [](Spec s, Row q,
                                                                                                int64_t j) {
    const bool misses = q.batch > 0 && q.head % 2 == 1 && j < 4 && DiagonalOf(s, q) > 4;
    return IsInRange(s, q, j) && !misses;
  };
}

}  // namespace

std::vector<Entry> AttentionFreshTiles() {
  return AttentionRows([](auto& of) { Tiles(of); });
}

}  // namespace corpus
