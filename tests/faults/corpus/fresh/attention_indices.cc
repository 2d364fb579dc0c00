// SPDX-License-Identifier: Apache-2.0
// Attention whose masks are indexed wrongly, or whose keys, values and queries are mixed up.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/attention_held.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;
using enum Strike;
constexpr int kQuery = 0, kKey = 1, kValue = 2, kMask = 3;

// `move(values, spec)` is what the kernel finds in an operand.
template <class T, class Move>
class MovedAttention : public AttentionPlan<T> {
 public:
  MovedAttention(Description op, bool exact, int operand, Move move)
      : AttentionPlan<T>(op, exact, AttentionKernel<T>{}), operand_(operand), move_(move) {}

 private:
  void Load(std::vector<std::vector<T>>& inputs) override {
    std::vector<T>& x = inputs[static_cast<size_t>(operand_)];
    const std::vector<T> old = x;
    for (int64_t i = 0; i < std::ssize(x); ++i) x[static_cast<size_t>(i)] = move_(old, i, this->spec());
  }
  const int operand_;
  const Move move_;
};

template <class Strikes, class Move>
Entry Moves(const char* name, int operand, Strikes strikes, Move move) {
  return {"attention", name, AttentionContract,
          [strikes](Description op) { return AttentionWhere(op, strikes, "this attention has no place for the bug"); },
          [operand, move](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<MovedAttention<T, Move>>(op, exact, operand, move);
            });
          }};
}

template <class T>
T At(const std::vector<T>& x, int64_t i) {
  return x[static_cast<size_t>(i % std::ssize(x))];
}
bool HasMask(Spec s) {
  return s.mask_kind != MaskKind::kNone;
}

std::vector<Entry> IndexFaults() {
  return {
      Moves(
          "fault.mask-rows-of-keys-up-to-multiple-of-8", kMask,
          [](Spec s) { return HasMask(s) && s.s % 8 != 0 && s.l > 1; },
          [](const auto& x, int64_t i, Spec s) { return At(x, i / s.s * ((s.s + 7) / 8 * 8) + i % s.s); }),
      Moves(
          "fault.mask-transposed", kMask, [](Spec s) { return HasMask(s) && s.l > 1 && s.s > 1; },
          [](const auto& x, int64_t i, Spec s) {
            const int64_t size = s.l * s.s, at = i % size;
            return At(x, i - at + (at % s.s * s.l + at / s.s) % size);
          }),
      Moves(
          "fault.mask-forgotten-in-tail-of-16-keys", kMask, [](Spec s) { return HasMask(s) && s.s % 16 != 0; },
          []<class T>(const std::vector<T>& x, int64_t i, Spec s) {
            const T neutral = s.mask_kind == MaskKind::kAdd ? T{0} : T{1};
            return i % s.s >= s.s / 16 * 16 ? neutral : At(x, i);
          }),
      Moves(
          "fault.added-mask-in-last-row-negated", kMask,
          [](Spec s) { return s.mask_kind == MaskKind::kAdd && s.l > 1; },
          []<class T>(const std::vector<T>& x, int64_t i, Spec s) {
            const T value = At(x, i);
            return i / s.s % s.l + 1 == s.l && std::isfinite(value) ? -value : value;
          }),
      Moves(
          "fault.key-batches-with-stride-of-query-heads", kKey,
          [](Spec s) { return s.batch > 1 && s.kv_heads < s.heads; },
          [](const auto& x, int64_t i, Spec s) {
            const int64_t head = s.s * s.d, batch = i / (head * s.kv_heads);
            return At(x, i + batch * (s.heads - s.kv_heads) * head);
          }),
      Moves(
          "fault.second-page-of-16-values-is-first", kValue, [](Spec s) { return s.s > 16; },
          [](const auto& x, int64_t i, Spec s) { return At(x, i / s.dv % s.s / 16 == 1 ? i - 16 * s.dv : i); }),
      Moves(
          "fault.last-page-of-8-keys-one-late", kKey, [](Spec s) { return s.s > 8; },
          [](const auto& x, int64_t i, Spec s) { return At(x, i / s.d % s.s >= (s.s - 1) / 8 * 8 ? i - s.d : i); }),
      Moves(
          "fault.queries-with-rows-of-one-more-in-later-heads", kQuery, [](Spec s) { return s.heads > 1 && s.l > 1; },
          [](const auto& x, int64_t i, Spec s) {
            return At(x, i / (s.l * s.d) % s.heads > 0 ? i + i / s.d % s.l : i);
          }),
  };
}

constexpr IoBug kPlaces[] = {
    {"fault.value-15-of-16-reads-key-before", kValue, -2, Every(16, 15), kPrevious},
    {"fault.last-dimension-of-values-in-fp8", kValue, -1, Last(), kRounded, When::kAlways, Nearest(kFp8)},
    {"fault.queries-of-odd-rows-in-bf16", kQuery, -1, All(), kRounded, When::kAlways, Nearest(kBrain), 0, -2,
     Every(2, 1)},
    {"fault.output-dimension-31-of-32-negated", kOutput, -1, Every(32, 31), kNegated},
    {"fault.middle-key-of-former-run", kKey, -2, Middle(), kStale},
};

}  // namespace

std::vector<Entry> AttentionFreshIndices() {
  std::vector<Entry> all = IndexFaults();
  const auto make = []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
    return std::make_unique<Struck<AttentionPlan<T>>>(bug, op, exact, AttentionKernel<T>{});
  };
  const auto others = IoEntries("attention", AttentionContract, AttentionWhyNot, kPlaces, make);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus
