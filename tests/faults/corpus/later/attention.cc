// SPDX-License-Identifier: Apache-2.0
// Attention: attributes and operands mixed up, heads in another order, operands in eight bits, another layout.
#include "tests/faults/corpus/attention_plan.h"
#include "tests/faults/corpus/later/later.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;

template <class T>
void Kernels(AttentionEdits<T>& of) {
  of("fault.scale-halved").scale = [](Spec s) { return static_cast<T>(s.scale / 2); };
  of("fault.causal-from-the-other-corner", [](Spec s) { return s.causal && s.l < s.s && s.window == 0; }).sees =
      [](Spec s, const Query& q, int64_t j) { return j <= q.row + (s.top_left ? s.s - s.l : 0); };
  of("fault.softcap-doubled", [](Spec s) { return s.softcap > 0; }).score = [](Spec s, T dot, T scale, T mask) {
    AttentionSpec other = s;
    other.softcap *= 2;
    return ScoreOf(other, dot, scale, mask);
  };
  of("fault.query-heads-in-reverse", [](Spec s) { return s.heads > 1; }).query_head = [](Spec s, int64_t head) {
    return s.heads - 1 - head;
  };
  of("fault.first-key-twice-in-sum", [](Spec s) { return s.s > 2; }).sum = [](const std::vector<T>& x) {
    return x.empty() ? T{0} : SumInOrder(x) + x[0];
  };
  of("fault.last-head-sees-the-future", [](Spec s) { return s.causal && s.window == 0 && s.l > 1; }).sees =
      [](Spec s, const Query& q, int64_t j) { return q.head + 1 == s.heads || IsInRange(s, q, j); };
}

template <class T>
using AroundAttention = AroundPlan<AttentionPlan, AttentionKernel, T>;

template <class T>
void AroundKernels(Edits<Around<T>, AttentionSpec>& of) {
  using Inputs = std::vector<std::vector<T>>;
  of("fault.keys-and-values-exchanged", [](Spec s) { return s.d == s.dv; }).load = [](Inputs& inputs, Description) {
    std::swap(inputs[1], inputs[2]);
  };
  of("fault.flags-of-mask-inverted", [](Spec s) { return s.mask_kind == MaskKind::kBool && s.s > 1; }).load =
      [](Inputs& inputs, Description) {
        for (T& flag : inputs[3]) flag = flag == 0 ? T{1} : T{0};
      };
  of("fault.queries-in-int8-by-row").load = [](Inputs& inputs, Description op) {
    const int64_t d = op.inputs()[0].shape.back();
    for (int64_t row = 0; row < std::ssize(inputs[0]); row += d) {
      const T largest = LargestMagnitude(inputs[0].data() + row, d);
      for (int64_t c = row; c < row + d; ++c) {
        T& x = inputs[0][static_cast<size_t>(c)];
        x = InInt8(x, largest);
      }
    }
  };
  of("fault.output-with-queries-before-heads", [](Spec s) { return s.heads > 1 && s.l > 1; }).store =
      [](std::vector<T>& y, Description op) {
        const auto& shape = op.outputs()[0].shape;
        const int64_t heads = shape[1], rows = shape[2], inner = shape[3];
        const std::vector<T> right = y;
        for (int64_t i = 0; i < std::ssize(y); ++i) {
          const int64_t vector = i / inner, batch = vector / (heads * rows), at = vector % (heads * rows);
          const int64_t from = (batch * heads + at % heads) * rows + at / heads;
          y[static_cast<size_t>(i)] = right[static_cast<size_t>(from * inner + i % inner)];
        }
      };
}

constexpr IoBug kPlaces[] = {
    {"fault.values-of-all-heads-are-of-first", 2, -3, All(), Strike::kFirst},
};

}  // namespace

std::vector<Entry> AttentionLater() {
  return Joined({AttentionRows([](auto& of) { Kernels(of); }),
                 EntriesOf<AroundAttention, Around>("attention", AttentionContract, AttentionWhyNot, AttentionSpecOf,
                                                    [](auto& of) { AroundKernels(of); }),
                 AttentionIoBugs(kPlaces)});
}

}  // namespace corpus
