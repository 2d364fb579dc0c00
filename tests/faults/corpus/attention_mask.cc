// SPDX-License-Identifier: Apache-2.0
// Attention that sees the wrong keys, the wrong head, or a mask in the wrong way.
#include "tests/faults/corpus/attention_plan.h"

namespace corpus {
namespace attention_mask {

bool IsLastRow(const AttentionSpec& s, const Query& q) {
  return q.row == s.l - 1;
}

int64_t PositionOf(const AttentionSpec& s, const Query& q) {
  return q.row + (s.top_left ? 0 : s.s - s.l);
}

// In range when causality ended `shift` keys later.
bool ShiftedRange(const AttentionSpec& s, const Query& q, int64_t j, int64_t shift) {
  AttentionSpec open = s;
  open.causal = false;
  return IsInRange(open, q, j) && j <= PositionOf(s, q) + shift;
}

bool OneKeyTooMany(const AttentionSpec& s, const Query& q, int64_t j) {
  return ShiftedRange(s, q, j, 1);
}
bool OneKeyTooManyInOneRow(const AttentionSpec& s, const Query& q, int64_t j) {
  return ShiftedRange(s, q, j, q.row == s.l / 2 ? 1 : 0);
}
bool DiagonalLost(const AttentionSpec& s, const Query& q, int64_t j) {
  return ShiftedRange(s, q, j, -1);
}
bool DiagonalLostInLastRow(const AttentionSpec& s, const Query& q, int64_t j) {
  return ShiftedRange(s, q, j, IsLastRow(s, q) ? -1 : 0);
}
bool OtherAlignment(const AttentionSpec& s, const Query& q, int64_t j) {
  AttentionSpec other = s;
  other.top_left = !s.top_left;
  return IsInRange(other, q, j);
}
bool NotCausal(const AttentionSpec& s, const Query& q, int64_t j) {
  AttentionSpec open = s;
  open.causal = false;
  return IsInRange(open, q, j);
}
template <int kMore>
bool WindowChanged(const AttentionSpec& s, const Query& q, int64_t j) {
  AttentionSpec other = s;
  other.window += kMore;
  if (other.window == 0) return false;
  return IsInRange(other, q, j);
}
bool LastKeyDropped(const AttentionSpec& s, const Query& q, int64_t j) {
  return IsInRange(s, q, j) && j + 1 < s.s;
}
bool LastKeyDroppedInLastRow(const AttentionSpec& s, const Query& q, int64_t j) {
  return IsInRange(s, q, j) && (j + 1 < s.s || !IsLastRow(s, q));
}
bool LastKeyDroppedOnce(const AttentionSpec& s, const Query& q, int64_t j) {
  return LastKeyDroppedInLastRow(s, q, j) || (IsInRange(s, q, j) && q.batch + q.head > 0);
}
bool TailTileDropped(const AttentionSpec& s, const Query& q, int64_t j) {
  return IsInRange(s, q, j) && j < s.s / 16 * 16;
}

int64_t InterleavedKeyHead(const AttentionSpec& s, int64_t head) {
  return head % s.kv_heads;
}
int64_t FirstKeyHead(const AttentionSpec&, int64_t) {
  return 0;
}
int64_t FirstTwoHeadsSwapped(const AttentionSpec&, int64_t head) {
  return head < 2 ? 1 - head : head;
}

template <class T>
T MaskTwice(const AttentionSpec& s, T dot, T scale, T mask) {
  return ScoreOf(s, dot, scale, mask) + mask;
}
template <class T>
T MaskBeforeScale(const AttentionSpec& s, T dot, T scale, T mask) {
  return ScoreOf(s, dot + mask, scale, T{0});
}
template <class T>
T MaskIgnored(const AttentionSpec& s, T dot, T scale, T) {
  return ScoreOf(s, dot, scale, T{0});
}
template <class T>
T CapAfterMask(const AttentionSpec& s, T dot, T scale, T mask) {
  const T cap = static_cast<T>(s.softcap);
  return cap * std::tanh((dot * scale + mask) / cap);
}
template <class T>
T CapMissing(const AttentionSpec& s, T dot, T scale, T mask) {
  AttentionSpec open = s;
  open.softcap = 0;
  return ScoreOf(open, dot, scale, mask);
}

// Where each bug can strike.
template <class Condition>
std::string When(Description op, Condition condition, const char* otherwise) {
  const std::string reason = AttentionWhyNot(op);
  return !reason.empty() ? reason : condition(AttentionSpecOf(op)) ? "" : otherwise;
}

// Some query's position has a key behind it.
std::string CausalWithLaterKeys(Description op) {
  return When(
      op,
      [](const auto& s) {
        return s.causal && s.l > 1 && PositionOf(s, {0, 0, s.l / 2}) + 1 < s.s && PositionOf(s, {0, 0, s.l / 2}) >= -1;
      },
      "this needs causal attention with keys behind the middle row");
}
std::string CausalWithDiagonal(Description op) {
  return When(
      op,
      [](const auto& s) {
        return s.causal && s.s > 1 && PositionOf(s, {0, 0, s.l - 1}) < s.s;
      },
      "this needs causal attention whose last row ends at its diagonal");
}
std::string CausalAndOblong(Description op) {
  return When(
      op, [](const auto& s) { return s.causal && s.l != s.s; }, "this needs causal attention of unlike lengths");
}
std::string CausalWithHiddenKeys(Description op) {
  return When(
      op, [](const auto& s) { return s.causal && s.l > 1; }, "this needs causal attention");
}
// Rows whose window reaches its end on the left, with room for one more.
std::string Windowed(Description op) {
  return When(
      op,
      [](const auto& s) {
        return s.window > 0 && PositionOf(s, {0, 0, s.l - 1}) - s.window >= 0;
      },
      "this needs a window shorter than the keys before the last row");
}
// Masks tend to hide the last keys as padding.
bool LastRowSeesLastKey(const AttentionSpec& s) {
  const AttentionSpec::Range keys = s.KeysOf(s.l - 1);
  return s.mask_kind == MaskKind::kNone && s.s > 1 && keys.last == s.s && keys.first < s.s;
}
std::string SeesLastKey(Description op) {
  return When(op, LastRowSeesLastKey,
              "this needs a last row that sees the last of several keys, whatever a mask hides");
}
std::string SeesTailTile(Description op) {
  return When(
      op, [](const auto& s) { return LastRowSeesLastKey(s) && s.s % 16 != 0; },
      "this needs keys that are no multiple of 16, seen by the last row");
}
std::string Grouped(Description op) {
  return When(
      op, [](const auto& s) { return s.kv_heads > 1 && s.kv_heads < s.heads; },
      "this needs several key heads, fewer than query heads");
}
std::string SeveralKeyHeads(Description op) {
  return When(
      op, [](const auto& s) { return s.kv_heads > 1; }, "this needs several key heads");
}
std::string SeveralHeads(Description op) {
  return When(
      op, [](const auto& s) { return s.heads > 1; }, "this needs several heads");
}
// Rows 0 .. l - s - 1 have no key.
std::string MaskedRows(Description op) {
  return When(
      op, [](const auto& s) { return s.causal && !s.top_left && s.l > s.s && !s.masked_nan; },
      "this needs rows that see no key and are zero");
}
std::string Adding(Description op) {
  return When(
      op, [](const auto& s) { return s.mask_kind == MaskKind::kAdd; }, "this needs a mask that is added");
}
std::string AddingAndScaled(Description op) {
  return When(
      op, [](const auto& s) { return s.mask_kind == MaskKind::kAdd && s.scale != 1; },
      "this needs a mask that is added and a scale");
}
std::string Capped(Description op) {
  return When(
      op, [](const auto& s) { return s.softcap > 0; }, "this needs a softcap");
}
std::string CappedAndAdding(Description op) {
  return When(
      op, [](const auto& s) { return s.softcap > 0 && s.mask_kind == MaskKind::kAdd; },
      "this needs a softcap and a mask that is added");
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return AttentionEntry(name, AttentionContract, why_not, make);
}

template <bool (*kSees)(const AttentionSpec&, const Query&, int64_t)>
Entry Sees(const char* name, TextOf why_not) {
  return Fault(name, why_not, []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.sees = kSees}; });
}

template <int64_t (*kKeyHead)(const AttentionSpec&, int64_t)>
Entry ReadsKeyHead(const char* name, TextOf why_not) {
  return Fault(name, why_not, []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.key_head = kKeyHead}; });
}

std::vector<Entry> VisibilityFaults() {
  return {
      Sees<OneKeyTooMany>("fault.mask-off-by-one-everywhere", CausalWithLaterKeys),
      Sees<OneKeyTooManyInOneRow>("fault.mask-off-by-one-row", CausalWithLaterKeys),
      Sees<DiagonalLost>("fault.diagonal-lost-everywhere", CausalWithDiagonal),
      Sees<DiagonalLostInLastRow>("fault.diagonal-lost-in-last-row", CausalWithDiagonal),
      Sees<OtherAlignment>("fault.causal-aligned-to-other-corner", CausalAndOblong),
      Sees<NotCausal>("fault.causality-ignored", CausalWithHiddenKeys),
      Sees<WindowChanged<1>>("fault.window-one-too-wide", Windowed),
      Sees<WindowChanged<-1>>("fault.window-one-too-narrow", Windowed),
      Sees<LastKeyDropped>("fault.last-key-dropped-everywhere", SeesLastKey),
      Sees<LastKeyDroppedInLastRow>("fault.last-key-dropped-in-last-row", SeesLastKey),
      Sees<LastKeyDroppedOnce>("fault.last-key-dropped-in-one-row-of-one-head", SeesLastKey),
      Sees<TailTileDropped>("fault.tail-tile-of-keys-dropped", SeesTailTile),
      ReadsKeyHead<InterleavedKeyHead>("fault.key-heads-interleaved", Grouped),
      ReadsKeyHead<FirstKeyHead>("fault.key-head-0-for-all", SeveralKeyHeads),
  };
}

}  // namespace attention_mask

std::vector<Entry> AttentionMaskFaults() {
  using namespace attention_mask;
  std::vector<Entry> all = VisibilityFaults();
  const std::vector<Entry> others = {
      Fault("fault.heads-swapped", SeveralHeads,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.query_head = FirstTwoHeadsSwapped}; }),
      Fault("fault.padding-keys-leak", SeesTailTile,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.padding = 16}; }),
      Fault("fault.masked-row-is-nan", MaskedRows,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.masked_row_is_nan = true}; }),
      Fault("fault.added-mask-twice", Adding,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.score = MaskTwice<T>}; }),
      Fault("fault.added-mask-before-scale", AddingAndScaled,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.score = MaskBeforeScale<T>}; }),
      Fault("fault.added-mask-only-hides", Adding,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.score = MaskIgnored<T>}; }),
      Fault("fault.softcap-after-mask", CappedAndAdding,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.score = CapAfterMask<T>}; }),
      Fault("fault.softcap-missing", Capped,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.score = CapMissing<T>}; }),
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus
