// SPDX-License-Identifier: Apache-2.0
// Mask operands, and NaN behind masks. Keys that no query sees are padding; their content must not matter.
#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "ops/attention/attention.h"
#include "ops/binding.h"

namespace assay {
namespace {

constexpr uint64_t kMaskStream = 0x6d61736b;

// The last eighth of the keys is padding, as in a batch of texts of unequal length.
int64_t Padding(const AttentionArgs& op) {
  return op.s / 8;
}

bool IsMasked(const AttentionArgs& op, const Tensor& mask, int64_t offset) {
  const double value = ValueAt(mask, offset);
  return op.mask == MaskKind::kBool ? value == 0 : value == -HUGE_VAL;
}

}  // namespace

// One query in 16 sees nothing; of the others' entries three in 16 are masked. Additive entries that are not are
// N(0, 1), one in 16 of them as far below zero as the type goes: masks are often written that way.
Tensor MakeAttentionMask(const AttentionArgs& op, const Operand& operand, uint64_t seed, bool twin) {
  Tensor mask(operand.dtype, operand.shape);
  const RandomStream random(seed, kMaskStream);
  const bool is_bool = op.mask == MaskKind::kBool;
  const double masked = is_bool ? 0 : -HUGE_VAL;
  std::vector<double> values(static_cast<size_t>(mask.size()));
  for (int64_t i = 0; i < mask.size(); ++i) {
    const auto row = static_cast<uint64_t>(i / op.s), at = static_cast<uint64_t>(i);
    const uint64_t kind = random.Below(2 * at, 16);
    const bool empty = op.l > 1 && random.Below((uint64_t{1} << 40) + row, 16) == 0;
    if (empty || kind < 3 || i % op.s >= op.s - Padding(op)) {
      values[i] = masked;
    } else if (is_bool) {
      values[i] = 1;
    } else if (!twin) {
      values[i] = kind == 3 ? -FormatOf(operand.dtype).max_finite : random.Normal(2 * at + 1);
    }
  }
  mask.SetDoubles(values);
  return mask;
}

void PoisonUnseenKeys(const AttentionArgs& op, std::vector<Tensor>& inputs) {
  std::vector<bool> seen(static_cast<size_t>(op.batch * op.hkv * op.s));
  for (int64_t row = 0; row < op.Rows(); ++row) {
    const AttentionArgs::Range keys = op.KeysOf(row);
    for (int64_t j = keys.first; j < keys.last; ++j) {
      // An additive mask does not hide a NaN: NaN - inf is NaN.
      if (op.mask == MaskKind::kBool && IsMasked(op, inputs[3], op.MaskOffset(row) + j)) continue;
      seen[op.KeyHead(row) * op.s + j] = true;
    }
  }
  for (int operand : {1, 2}) {
    std::vector<double> values = inputs[operand].ToDoubles();
    const int64_t width = operand == 1 ? op.d : op.dv;
    for (size_t key = 0; key < seen.size(); ++key) {
      if (!seen[key]) std::fill_n(values.begin() + static_cast<int64_t>(key) * width, width, NAN);
    }
    inputs[operand].SetDoubles(values);
  }
}

}  // namespace assay
