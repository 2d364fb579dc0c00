// SPDX-License-Identifier: Apache-2.0
// Runs an AttentionKernel over dense operands.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tests/faults/corpus/attention_kernel.h"
#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/edits.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

template <class T>
class AttentionPlan : public DensePlan<T> {
 public:
  AttentionPlan(Description op, bool exact, AttentionKernel<T> kernel)
      : DensePlan<T>(op, exact), kernel_(kernel), spec_(AttentionSpecOf(op)) {
    if (spec_.mask_kind != MaskKind::kNone) mask_per_head_ = op.inputs()[3].Rank() == 4;
  }

 protected:
  const AttentionSpec& spec() const { return spec_; }

 private:
  struct Operands {
    std::vector<T> q, k, v, mask;
  };

  void Compute(std::span<const std::vector<T>> inputs, DenseOutput<T>& output) final {
    Operands x{inputs[0], inputs[1], inputs[2], inputs.size() > 3 ? inputs[3] : std::vector<T>{}};
    for (std::vector<T>* operand : {&x.q, &x.k, &x.v}) {
      for (T& element : *operand) element = kernel_.cast(element);
    }
    T* o = output.values.data();
    Query query;
    for (query.batch = 0; query.batch < spec_.batch; ++query.batch) {
      for (query.head = 0; query.head < spec_.heads; ++query.head) {
        for (query.row = 0; query.row < spec_.l; ++query.row, o += spec_.dv) Answer(x, query, o);
      }
    }
  }

  void Answer(const Operands& x, const Query& query, T* o) {
    const int64_t size = kernel_.tile > 0 ? kernel_.tile : spec_.s, tiles = (spec_.s + size - 1) / size;
    const int64_t share = (tiles + kernel_.units - 1) / kernel_.units;
    AttentionState<T> state(spec_.dv);
    for (int64_t first = 0; first < tiles; first += share) {
      AttentionState<T> own(spec_.dv);
      const int64_t last = std::min(tiles, first + share);
      for (int64_t i = first; i < last; ++i) {
        const int64_t at = kernel_.backwards ? last - 1 - (i - first) : i;
        AddTile(kernel_, Tile(x, query, at * size, size), kernel_.rescales(spec_, query, i), own);
      }
      if (first == 0) {
        state = own;
      } else {
        Merge(kernel_, own, state);
      }
    }
    for (int64_t c = 0; c < spec_.dv; ++c) o[c] = Quotient(state, state.values[static_cast<size_t>(c)]);
  }

  T Quotient(const AttentionState<T>& state, T value) const {
    if (kernel_.masked_row_is_nan) return value / state.total;
    // In base 2 the lowest number is -inf, too.
    const bool no_score = std::isinf(state.max * static_cast<T>(1.4427L)) && state.total == 0;
    if (!state.has_keys || no_score) {
      return spec_.masked_nan && !kernel_.masked_row_is_zero ? std::numeric_limits<T>::quiet_NaN() : T{0};
    }
    if (kernel_.reciprocal) return value * kernel_.reciprocal(state.total);
    return kernel_.normalises_first ? value : value / state.total;
  }

  AttentionTile<T> Tile(const Operands& x, const Query& q, int64_t first, int64_t size) const {
    AttentionTile<T> tile;
    const int64_t head = kernel_.query_head(spec_, q.head), last = std::min(first + size, spec_.s);
    const int64_t group = q.batch * spec_.kv_heads + kernel_.key_head(spec_, head);
    const int64_t row = (q.batch * spec_.heads + head) * spec_.l + q.row;
    const T scale = kernel_.scale(spec_);
    for (int64_t j = first; j < last; ++j) {
      const T mask = x.mask.empty() ? T{0} : x.mask[static_cast<size_t>((mask_per_head_ ? row : q.row) * spec_.s + j)];
      if (!kernel_.sees(spec_, q, j) || (spec_.mask_kind == MaskKind::kBool && mask == 0) ||
          (spec_.mask_kind == MaskKind::kAdd && mask == -std::numeric_limits<T>::infinity())) {
        continue;
      }
      const T dot = kernel_.dot(x.q.data() + row * spec_.d, x.k.data() + (group * spec_.s + j) * spec_.d, spec_.d);
      tile.scores.push_back(kernel_.stored(kernel_.score(spec_, dot, scale, mask)));
      tile.values.push_back(x.v.data() + (group * spec_.s + j) * spec_.dv);
      tile.in_max.push_back(kernel_.counts_for_max(spec_, q, j));
      tile.in_sum.push_back(kernel_.counts_for_sum(spec_, q, j));
    }
    const int64_t padding = last < spec_.s ? 0 : (kernel_.padding - spec_.s % kernel_.padding) % kernel_.padding;
    for (int64_t j = 0; j < padding; ++j) {
      tile.scores.push_back(0), tile.values.push_back(nullptr);
      tile.in_max.push_back(true), tile.in_sum.push_back(true);
    }
    return tile;
  }

  const AttentionKernel<T> kernel_;
  const AttentionSpec spec_;
  bool mask_per_head_ = false;
};

template <class T>
using AttentionEdits = Edits<AttentionKernel<T>, AttentionSpec>;
template <template <class> class Plan = AttentionPlan, class Fill>
std::vector<Entry> AttentionRows(Fill fill) {
  return EntriesOf<Plan, AttentionKernel>("attention", AttentionContract, AttentionWhyNot, AttentionSpecOf, fill);
}
// Bugs of what the correct kernel reads or stores.
inline std::vector<Entry> AttentionIoBugs(std::span<const IoBug> bugs) {
  return StruckEntries<AttentionPlan, AttentionKernel>("attention", AttentionContract, AttentionWhyNot, bugs);
}

}  // namespace corpus
