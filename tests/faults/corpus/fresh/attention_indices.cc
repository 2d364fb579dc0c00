// SPDX-License-Identifier: Apache-2.0
// Attention whose masks are indexed wrongly, or whose keys, values and queries are mixed up.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/attention_held.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;

using enum Strike;
constexpr int kQuery = 0, kKey = 1, kValue = 2, kMask = 3;

// `move(values, i, spec)` is what the kernel finds in place i of an operand.
template <class T>
struct Moves {
  int operand = 0;
  std::function<T(const std::vector<T>&, int64_t, Spec)> move{};
};

template <class T>
class MovedAttention : public AttentionPlan<T> {
 public:
  MovedAttention(Description op, bool exact, Moves<T> moves)
      : AttentionPlan<T>(op, exact, AttentionKernel<T>{}), moves_(std::move(moves)) {}

 private:
  void Load(std::vector<std::vector<T>>& inputs) override {
    std::vector<T>& x = inputs[static_cast<size_t>(moves_.operand)];
    const std::vector<T> old = x;
    for (int64_t i = 0; i < std::ssize(x); ++i) x[static_cast<size_t>(i)] = moves_.move(old, i, this->spec());
  }
  const Moves<T> moves_;
};

template <class T>
T At(const std::vector<T>& x, int64_t i) {
  return x[static_cast<size_t>(i % std::ssize(x))];
}
bool HasMask(Spec s) {
  return s.mask_kind != MaskKind::kNone;
}

constexpr auto kMaskedTail8 = [](Spec s) { return HasMask(s) && s.s % 8 != 0 && s.l > 1; };
constexpr auto kMaskedTail16 = [](Spec s) { return HasMask(s) && s.s % 16 != 0; };
constexpr auto kMaskMatrix = [](Spec s) { return HasMask(s) && s.l > 1 && s.s > 1; };
constexpr auto kAddingRows = [](Spec s) { return s.mask_kind == MaskKind::kAdd && s.l > 1; };
constexpr auto kGroupedBatches = [](Spec s) { return s.batch > 1 && s.kv_heads < s.heads; };
constexpr auto kTwoPages = [](Spec s) { return s.s > 16; };
constexpr auto kMoreThan8Keys = [](Spec s) { return s.s > 8; };
constexpr auto kSeveralHeadsAndRows = [](Spec s) { return s.heads > 1 && s.l > 1; };

template <class T>
void IndexFaults(Edits<Moves<T>, AttentionSpec>& of) {
  using Values = const std::vector<T>&;
  of("fault.mask-rows-of-keys-up-to-multiple-of-8", kMaskedTail8) = {
      kMask, [](Values x, int64_t i, Spec s) { return At(x, i / s.s * ((s.s + 7) / 8 * 8) + i % s.s); }};
  of("fault.mask-transposed", kMaskMatrix) = {kMask, [](Values x, int64_t i, Spec s) {
                                                const int64_t size = s.l * s.s, at = i % size;
                                                return At(x, i - at + (at % s.s * s.l + at / s.s) % size);
                                              }};
  of("fault.mask-forgotten-in-tail-of-16-keys", kMaskedTail16) = {
      kMask, [](Values x, int64_t i, Spec s) {
        const T neutral = s.mask_kind == MaskKind::kAdd ? T{0} : T{1};
        return i % s.s >= s.s / 16 * 16 ? neutral : At(x, i);
      }};
  of("fault.added-mask-in-last-row-negated", kAddingRows) = {
      kMask, [](Values x, int64_t i, Spec s) {
        const T value = At(x, i);
        return i / s.s % s.l + 1 == s.l && std::isfinite(value) ? -value : value;
      }};
  of("fault.key-batches-with-stride-of-query-heads", kGroupedBatches) = {
      kKey, [](Values x, int64_t i, Spec s) {
        const int64_t head = s.s * s.d, batch = i / (head * s.kv_heads);
        return At(x, i + batch * (s.heads - s.kv_heads) * head);
      }};
  of("fault.second-page-of-16-values-is-first", kTwoPages) = {
      kValue, [](Values x, int64_t i, Spec s) { return At(x, i / s.dv % s.s / 16 == 1 ? i - 16 * s.dv : i); }};
  of("fault.last-page-of-8-keys-one-late", kMoreThan8Keys) = {
      kKey, [](Values x, int64_t i, Spec s) { return At(x, i / s.d % s.s >= (s.s - 1) / 8 * 8 ? i - s.d : i); }};
  of("fault.queries-with-rows-of-one-more-in-later-heads", kSeveralHeadsAndRows) = {
      kQuery, [](Values x, int64_t i, Spec s) { return At(x, i / (s.l * s.d) % s.heads > 0 ? i + i / s.d % s.l : i); }};
}

constexpr IoBug kPlaces[] = {
    {"fault.value-15-of-16-reads-key-before", kValue, -2, Every(16, 15), kPrevious},
    {"fault.last-dimension-of-values-in-fp8", kValue, -1, Last(), kRounded, When::kAlways, Nearest(kFp8)},
    IoBug{"fault.queries-of-odd-rows-in-bf16", kQuery, -1, All(), kRounded}.To(Nearest(kBrain)).And(-2, Every(2, 1)),
    {"fault.output-dimension-31-of-32-negated", kOutput, -1, Every(32, 31), kNegated},
    {"fault.middle-key-of-former-run", kKey, -2, Middle(), kStale},
};

}  // namespace

std::vector<Entry> AttentionFreshIndices() {
  return Joined({EntriesOf<MovedAttention, Moves>("attention", AttentionContract, AttentionWhyNot, AttentionSpecOf,
                                                  [](auto& of) { IndexFaults(of); }),
                 AttentionIoBugs(kPlaces)});
}

}  // namespace corpus
