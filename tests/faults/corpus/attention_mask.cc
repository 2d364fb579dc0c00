// SPDX-License-Identifier: Apache-2.0
// Attention that sees the wrong keys, the wrong head, or a mask in the wrong way.
#include "tests/faults/corpus/attention_plan.h"

namespace corpus {
namespace attention_mask {

using Spec = const AttentionSpec&;
using Row = const Query&;

bool IsLastRow(Spec s, Row q) {
  return q.row == s.l - 1;
}
int64_t PositionOf(Spec s, Row q) {
  return q.row + (s.top_left ? 0 : s.s - s.l);
}
bool IsInOpenRange(Spec s, Row q, int64_t j) {
  AttentionSpec open = s;
  open.causal = false;
  return IsInRange(open, q, j);
}
// In range when causality ended `shift` keys later.
bool ShiftedRange(Spec s, Row q, int64_t j, int64_t shift) {
  return IsInOpenRange(s, q, j) && j <= PositionOf(s, q) + shift;
}
bool IsInOtherAlignment(AttentionSpec s, Row q, int64_t j) {
  s.top_left = !s.top_left;
  return IsInRange(s, q, j);
}
bool IsInWindowOf(AttentionSpec s, int more, Row q, int64_t j) {
  s.window += more;
  return s.window != 0 && IsInRange(s, q, j);
}
bool LastKeyDroppedInLastRow(Spec s, Row q, int64_t j) {
  return IsInRange(s, q, j) && (j + 1 < s.s || !IsLastRow(s, q));
}

// Where each bug can strike. Some query's position has a key behind it.
constexpr auto kCausalWithLaterKeys = [](Spec s) {
  return s.causal && s.l > 1 && PositionOf(s, {0, 0, s.l / 2}) + 1 < s.s && PositionOf(s, {0, 0, s.l / 2}) >= -1;
};
constexpr auto kCausalWithDiagonal = [](Spec s) { return s.causal && s.s > 1 && PositionOf(s, {0, 0, s.l - 1}) < s.s; };
constexpr auto kCausalAndOblong = [](Spec s) { return s.causal && s.l != s.s; };
constexpr auto kCausalWithHiddenKeys = [](Spec s) { return s.causal && s.l > 1; };
// Rows whose window reaches its end on the left, with room for one more.
constexpr auto kWindowed = [](Spec s) { return s.window > 0 && PositionOf(s, {0, 0, s.l - 1}) - s.window >= 0; };
// The last row sees the last of several keys. Masks tend to hide the last keys as padding.
constexpr auto kSeesLastKey = [](Spec s) {
  const AttentionSpec::Range keys = s.KeysOf(s.l - 1);
  return s.mask_kind == MaskKind::kNone && s.s > 1 && keys.last == s.s && keys.first < s.s;
};
constexpr auto kSeesTailTile = [](Spec s) { return kSeesLastKey(s) && s.s % 16 != 0; };
constexpr auto kGrouped = [](Spec s) { return s.kv_heads > 1 && s.kv_heads < s.heads; };
constexpr auto kSeveralKeyHeads = [](Spec s) { return s.kv_heads > 1; };
constexpr auto kSeveralHeads = [](Spec s) { return s.heads > 1; };
// Rows 0 .. l - s - 1 have no key.
constexpr auto kMaskedRows = [](Spec s) { return s.causal && !s.top_left && s.l > s.s && !s.masked_nan; };
constexpr auto kAdding = [](Spec s) { return s.mask_kind == MaskKind::kAdd; };
constexpr auto kAddingAndScaled = [](Spec s) { return kAdding(s) && s.scale != 1; };
constexpr auto kCapped = [](Spec s) { return s.softcap > 0; };
constexpr auto kCappedAndAdding = [](Spec s) { return kCapped(s) && kAdding(s); };

template <class T>
void Visibility(AttentionEdits<T>& of) {
  of("fault.mask-off-by-one-everywhere", kCausalWithLaterKeys).sees = [](Spec s, Row q, int64_t j) {
    return ShiftedRange(s, q, j, 1);
  };
  of("fault.mask-off-by-one-row", kCausalWithLaterKeys).sees = [](Spec s, Row q, int64_t j) {
    return ShiftedRange(s, q, j, q.row == s.l / 2 ? 1 : 0);
  };
  of("fault.diagonal-lost-everywhere", kCausalWithDiagonal).sees = [](Spec s, Row q, int64_t j) {
    return ShiftedRange(s, q, j, -1);
  };
  of("fault.diagonal-lost-in-last-row", kCausalWithDiagonal).sees = [](Spec s, Row q, int64_t j) {
    return ShiftedRange(s, q, j, IsLastRow(s, q) ? -1 : 0);
  };
  of("fault.causal-aligned-to-other-corner", kCausalAndOblong).sees = IsInOtherAlignment;
  of("fault.causality-ignored", kCausalWithHiddenKeys).sees = IsInOpenRange;
  of("fault.window-one-too-wide", kWindowed).sees = [](Spec s, Row q, int64_t j) { return IsInWindowOf(s, 1, q, j); };
  of("fault.window-one-too-narrow", kWindowed).sees = [](Spec s, Row q, int64_t j) {
    return IsInWindowOf(s, -1, q, j);
  };
  of("fault.last-key-dropped-everywhere", kSeesLastKey).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) && j + 1 < s.s;
  };
  of("fault.last-key-dropped-in-last-row", kSeesLastKey).sees = LastKeyDroppedInLastRow;
  of("fault.last-key-dropped-in-one-row-of-one-head", kSeesLastKey).sees = [](Spec s, Row q, int64_t j) {
    return LastKeyDroppedInLastRow(s, q, j) || (IsInRange(s, q, j) && q.batch + q.head > 0);
  };
  of("fault.tail-tile-of-keys-dropped", kSeesTailTile).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) && j < s.s / 16 * 16;
  };
}

template <class T>
void HeadsAndMasks(AttentionEdits<T>& of) {
  of("fault.key-heads-interleaved", kGrouped).key_head = [](Spec s, int64_t head) { return head % s.kv_heads; };
  of("fault.key-head-0-for-all", kSeveralKeyHeads).key_head = [](Spec, int64_t) { return 0; };
  of("fault.heads-swapped", kSeveralHeads).query_head = [](Spec, int64_t head) { return head < 2 ? 1 - head : head; };
  of("fault.padding-keys-leak", kSeesTailTile).padding = 16;
  of("fault.masked-row-is-nan", kMaskedRows).masked_row_is_nan = true;
  of("fault.added-mask-twice", kAdding).score = [](Spec s, T dot, T scale, T mask) {
    return ScoreOf(s, dot, scale, mask) + mask;
  };
  of("fault.added-mask-before-scale", kAddingAndScaled).score = [](Spec s, T dot, T scale, T mask) {
    return ScoreOf(s, dot + mask, scale, T{0});
  };
  of("fault.added-mask-only-hides", kAdding).score = [](Spec s, T dot, T scale, T) {
    return ScoreOf(s, dot, scale, T{0});
  };
  of("fault.softcap-after-mask", kCappedAndAdding).score = [](Spec s, T dot, T scale, T mask) {
    const T cap = static_cast<T>(s.softcap);
    return cap * std::tanh((dot * scale + mask) / cap);
  };
  of("fault.softcap-missing", kCapped).score = [](AttentionSpec s, T dot, T scale, T mask) {
    s.softcap = 0;
    return ScoreOf(s, dot, scale, mask);
  };
}

}  // namespace attention_mask

std::vector<Entry> AttentionMaskFaults() {
  return AttentionRows([](auto& of) { attention_mask::Visibility(of), attention_mask::HeadsAndMasks(of); });
}

}  // namespace corpus
