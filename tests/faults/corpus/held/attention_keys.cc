// SPDX-License-Identifier: Apache-2.0
// Attention that sees the wrong keys, takes the wrong head, batch or mask, or stores in the wrong place.
#include "tests/faults/corpus/held/attention_held.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;
using Row = const Query&;

AttentionSpec WithoutWindow(AttentionSpec s) {
  s.window = 0;
  return s;
}
AttentionSpec NotCausal(AttentionSpec s) {
  s.causal = false;
  return s;
}

// Where each bug can strike.
constexpr auto kCausal = [](Spec s) { return s.causal && s.s > 1; };
constexpr auto kCausalAndOblong = [](Spec s) { return s.causal && s.l != s.s; };
constexpr auto kWindowed = [](Spec s) { return s.window > 0; };
constexpr auto kWindowedBothWays = [](Spec s) { return s.window > 0 && !s.causal; };
constexpr auto kWindowedAndCausal = [](Spec s) { return s.window > 0 && s.causal; };
constexpr auto kGrouped = [](Spec s) { return s.kv_heads > 1 && s.kv_heads < s.heads; };
constexpr auto kSeveralKeyHeads = [](Spec s) { return s.kv_heads > 1; };
constexpr auto kSeveralHeads = [](Spec s) { return s.heads > 1; };
constexpr auto kMaskedToNan = [](Spec s) { return s.masked_nan; };

// Keys that are never seen, in some of the rows and heads.
struct KeyBug {
  const char* name;
  Which keys, rows = All(), heads = All();
};

constexpr KeyBug kKeyBugs[] = {
    {"fault.keys-beyond-31-ignored", From(31)},
    {"fault.keys-beyond-255-ignored", From(255)},
    {"fault.keys-beyond-4095-ignored", From(4095)},
    {"fault.last-key-lost-at-rest-1-of-32", IfRest(32, 1)},
    {"fault.last-key-lost-at-rest-1-of-64", IfRest(64, 1)},
    {"fault.last-key-lost-at-rest-0-of-8", IfRest(8, 0)},
    {"fault.first-key-lost", First()},
    {"fault.first-key-lost-in-last-head", First(), All(), Last()},
    {"fault.tail-keys-lost-in-tail-rows", Tail(16), Tail(16)},
    {"fault.last-block-of-64-keys-lost-in-first-row", LastBlock(64), First()},
    {"fault.key-15-of-16-lost", Every(16, 15)},
    {"fault.middle-key-lost-in-odd-rows", Middle(), Every(2, 1)},
};

template <class T>
void VisibilityFaults(AttentionEdits<T>& of) {
  of("fault.causal-offset-one-short", kCausalAndOblong).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(NotCausal(s), q, j) && j <= DiagonalOf(s, q) - 1;
  };
  of("fault.causal-offset-of-half", kCausalAndOblong).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(NotCausal(s), q, j) && j <= q.row + (s.s - s.l) / 2;
  };
  of("fault.causal-by-blocks-of-16", kCausal).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(NotCausal(s), q, j) && j / 16 <= DiagonalOf(s, q) / 16;
  };
  of("fault.causal-only-in-diagonal-block", kCausal).sees = [](Spec s, Row q, int64_t j) {
    const bool same = j / 16 == DiagonalOf(s, q) / 16;
    return same ? IsInRange(s, q, j) : IsInRange(NotCausal(s), q, j);
  };
  of("fault.causality-forgotten-in-last-row-but-one", kCausal).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(q.row + 2 == s.l ? NotCausal(s) : s, q, j);
  };
  of("fault.causality-forgotten-in-last-head", kCausal).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(q.head + 1 == s.heads ? NotCausal(s) : s, q, j);
  };
  of("fault.diagonal-alone-lost-in-even-rows", kCausal).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) && (q.row % 2 == 1 || j != DiagonalOf(s, q));
  };
  of("fault.window-ignored", kWindowed).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(WithoutWindow(s), q, j);
  };
  of("fault.window-forgets-left-side", kWindowedBothWays).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) || (IsInRange(WithoutWindow(s), q, j) && j < DiagonalOf(s, q));
  };
  of("fault.window-forgets-right-side", kWindowedBothWays).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) || (IsInRange(WithoutWindow(s), q, j) && j > DiagonalOf(s, q));
  };
  of("fault.window-counts-from-row", kWindowedAndCausal).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(WithoutWindow(s), q, j) && j > q.row - s.window;
  };
  of("fault.window-of-half-width", kWindowed).sees = [](Spec s, Row q, int64_t j) {
    AttentionSpec half = s;
    half.window = (s.window + 1) / 2;
    return IsInRange(half, q, j);
  };
  of("fault.window-by-blocks-of-8", kWindowed).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) || (IsInRange(WithoutWindow(s), q, j) && IsInRange(s, q, j / 8 * 8 + 7));
  };
  of("fault.window-loses-its-first-key", kWindowed).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(s, q, j) && j != s.KeysOf(q.row).first;
  };
  of("fault.window-applied-to-later-heads-alone", kWindowed).sees = [](Spec s, Row q, int64_t j) {
    return IsInRange(q.head == 0 ? WithoutWindow(s) : s, q, j);
  };
}

template <class T>
void HeadFaults(AttentionEdits<T>& of) {
  of("fault.key-head-of-next-group", kSeveralKeyHeads).key_head = [](Spec s, int64_t head) {
    return (KeyHeadOf(s, head) + 1) % s.kv_heads;
  };
  of("fault.key-head-clamped-from-query-head", kGrouped).key_head = [](Spec s, int64_t head) {
    return std::min(head, s.kv_heads - 1);
  };
  of("fault.last-head-reads-first-group", kSeveralKeyHeads).key_head = [](Spec s, int64_t head) {
    return head + 1 == s.heads ? 0 : KeyHeadOf(s, head);
  };
  of("fault.group-begins-one-head-late", kGrouped).key_head = [](Spec s, int64_t head) {
    return KeyHeadOf(s, std::max<int64_t>(0, head - 1));
  };
  of("fault.first-query-head-for-all", kSeveralHeads).query_head = [](Spec, int64_t) { return int64_t{0}; };
  of("fault.query-heads-reversed", kSeveralHeads).query_head = [](Spec s, int64_t head) { return s.heads - 1 - head; };
  of("fault.row-without-keys-is-zero", kMaskedToNan).masked_row_is_zero = true;
  of("fault.keys-padded-to-multiple-of-64").padding = 64;
}

template <class T>
void LostKeys(AttentionEdits<T>& of) {
  for (const KeyBug& bug : kKeyBugs) {
    const auto strikes = [bug](Spec s) {
      return s.s > 1 && bug.keys.Strikes(s.s) && bug.rows.Strikes(s.l) && bug.heads.Strikes(s.heads);
    };
    of(bug.name, strikes).sees = [bug](Spec s, Row q, int64_t j) {
      const bool lost = bug.keys.Has(j, s.s) && bug.rows.Has(q.row, s.l) && bug.heads.Has(q.head, s.heads);
      return IsInRange(s, q, j) && !lost;
    };
  }
}

using enum Strike;
constexpr int kQuery = 0, kKey = 1, kValue = 2, kMask = 3;
constexpr int kBatch = -4, kHead = -3, kRow = -2, kColumn = -1;

constexpr IoBug kPlaces[] = {
    {"fault.batch-of-keys-ignored", kKey, kBatch, From(1), kFirst},
    {"fault.batch-of-values-ignored", kValue, kBatch, From(1), kFirst},
    {"fault.batch-of-queries-ignored", kQuery, kBatch, From(1), kFirst},
    {"fault.head-of-values-alone-ignored", kValue, kHead, From(1), kFirst},
    {"fault.heads-of-keys-alone-swapped", kKey, kHead, All(), kSwapped},
    {"fault.last-key-reads-previous", kKey, kRow, Last(), kPrevious},
    {"fault.tail-values-read-previous", kValue, kRow, Tail(8), kPrevious},
    {"fault.values-one-key-behind", kValue, kRow, From(1), kPrevious},
    {"fault.key-index-in-i8", kKey, kRow, From(128), kWrapped, When::kAlways, {}, 128},
    {"fault.key-index-in-bf16", kKey, kRow, All(), kOfBrain},
    {"fault.value-index-in-f16", kValue, kRow, All(), kOfHalf},
    {"fault.keys-swapped-in-tail-of-16", kKey, kRow, Tail(16), kSwapped},
    {"fault.last-dimension-of-keys-zero-at-rest-1-of-16", kKey, kColumn, IfRest(16, 1), kZero},
    {"fault.dimensions-beyond-63-ignored", kQuery, kColumn, From(64), kZero},
    {"fault.dimensions-beyond-127-doubled", kQuery, kColumn, From(127), kDoubled},
    {"fault.tail-of-8-dimensions-of-queries-zero", kQuery, kColumn, Tail(8), kZero},
    {"fault.tail-of-8-dimensions-of-output-zero", kOutput, kColumn, Tail(8), kZero},
    {"fault.dimensions-of-queries-swapped", kQuery, kColumn, All(), kSwapped},
    {"fault.tail-rows-unwritten", kOutput, kRow, Tail(16), kUnwritten},
    {"fault.last-row-repeats-previous", kOutput, kRow, Last(), kPrevious},
    {"fault.rows-of-last-head-swapped", kOutput, kRow, All(), kSwapped, When::kAlways, {}, 0, kHead, Last()},
    {"fault.rows-beyond-63-read-wrapped-queries", kQuery, kRow, From(64), kWrapped, When::kAlways, {}, 64},
    IoBug{"fault.later-batches-negated-in-last-column", kOutput, kColumn, Last(), kNegated}.And(kBatch, From(1)),
    {"fault.mask-of-first-batch-for-all", kMask, kBatch, From(1), kFirst},
    {"fault.mask-of-first-head-for-all", kMask, kHead, From(1), kFirst},
    {"fault.mask-one-row-behind", kMask, kRow, From(1), kPrevious},
    {"fault.mask-one-key-behind", kMask, kColumn, From(1), kPrevious},
    {"fault.mask-of-first-row-for-all", kMask, kRow, From(1), kFirst},
    {"fault.mask-columns-swapped", kMask, kColumn, All(), kSwapped},
    {"fault.mask-in-bf16", kMask, kColumn, All(), kRounded, When::kAlways, Nearest(kBrain)},
    {"fault.mask-magnitude-taken", kMask, kColumn, All(), kAbsolute},
    {"fault.infinite-values-clamped", kValue, kColumn, All(), kInfinityToLargest},
    {"fault.values-of-14-bits", kValue, kColumn, All(), kRounded, When::kAlways, NearestBits(14)},
    {"fault.keys-truncated-to-18-bits", kKey, kColumn, All(), kRounded, When::kAlways, TruncatedBits(18)},
    {"fault.keys-in-fp8", kKey, kColumn, All(), kRounded, When::kAlways, Nearest(kFp8)},
};

}  // namespace

std::vector<Entry> AttentionHeldKeys() {
  // No operand of the suites is NaN, no query infinite, no subnormal one matters.
  const std::vector<IoBug> general =
      BugsOfEveryOperator({"fault.flushing-mode-left-on-for-operands", "fault.infinite-operands-clamped",
                           "fault.nan-in-second-half-of-operand-ignored", "fault.nan-operands-taken-as-largest"});
  return Joined({AttentionRows([](auto& of) { VisibilityFaults(of), HeadFaults(of), LostKeys(of); }),
                 AttentionIoBugs(general), AttentionIoBugs(kPlaces)});
}

}  // namespace corpus
