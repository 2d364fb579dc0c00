// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/key_mask.h"

#include <limits>

#include "backends/onednn/element.h"

namespace onednn {
namespace {

using plugin::MaskKind;

constexpr float kMasked = -std::numeric_limits<float>::infinity();

}  // namespace

bool KeyMask::IsNeeded(const plugin::AttentionSpec& a) {
  return a.causal || a.window > 0 || a.mask_kind != MaskKind::kNone;
}

KeyMask::KeyMask(const plugin::AttentionSpec& a) : a_(a) {
  const bool per_head = a.mask[0] != 0 || a.mask[1] != 0;
  batches_ = per_head ? a.batch : 1;
  heads_ = per_head ? a.heads : a.heads / a.kv_heads;
  added_.resize(static_cast<size_t>(batches_ * heads_ * a.l * a.s));
  hidden_.resize(added_.size());
  seen_.resize(static_cast<size_t>(batches_ * heads_ * a.l));
}

float KeyMask::Entry(const std::byte* operand, int64_t row, int64_t key) const {
  const int64_t i = row % a_.l, head = row / a_.l % heads_, batch = row / (a_.l * heads_);
  const int64_t offset = batch * a_.mask[0] + head * a_.mask[1] + i * a_.mask[2] + key * a_.mask[3];
  if (a_.mask_kind == MaskKind::kBool) return static_cast<int8_t>(operand[offset]) != 0 ? 0 : kMasked;
  return LoadElement(a_.mask_dtype, operand, offset);
}

void KeyMask::Read(const std::byte* operand) {
  for (int64_t row = 0; row < std::ssize(seen_); ++row) {
    const plugin::AttentionSpec::Range keys = a_.KeysOf(row % a_.l);
    bool seen = false;
    for (int64_t key = 0; key < a_.s; ++key) {
      const bool reached = key >= keys.first && key < keys.last;
      const float entry = !reached ? kMasked : a_.mask_kind == MaskKind::kNone ? 0 : Entry(operand, row, key);
      const size_t at = At(row, key);
      added_[at] = entry;
      hidden_[at] = !reached || (a_.mask_kind == MaskKind::kBool && entry == kMasked) ? 1 : 0;
      seen = seen || entry != kMasked;
    }
    seen_[static_cast<size_t>(row)] = seen ? 1 : 0;
  }
}

}  // namespace onednn
