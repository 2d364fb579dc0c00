// SPDX-License-Identifier: Apache-2.0
// Which keys each query of an attention may see: causality, window and mask operand in one table, as the operand that
// oneDNN adds to the scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/common/attention_spec.h"

namespace onednn {

// Queries are counted through all batches and heads; the table repeats where these share a mask.
class KeyMask {
 public:
  explicit KeyMask(const plugin::AttentionSpec& a);

  // Whether some query may not see some key.
  static bool IsNeeded(const plugin::AttentionSpec& a);

  // The table is [batches, heads, l, s]; one batch and one group of heads where all share it.
  int64_t batches() const { return batches_; }
  int64_t heads() const { return heads_; }
  float* table() { return added_.data(); }

  // Fills the table. `operand` counts only where the case has a mask operand.
  void Read(const std::byte* operand);

  // A hidden key must not influence the result, whatever it holds. An additive entry of -inf hides nothing: NaN - inf
  // is NaN.
  bool Hides(int64_t query, int64_t key) const { return hidden_[At(query, key)] != 0; }
  float Added(int64_t query, int64_t key) const { return added_[At(query, key)]; }
  bool LeavesNothing(int64_t query) const { return seen_[static_cast<size_t>(query) % seen_.size()] == 0; }

 private:
  size_t At(int64_t query, int64_t key) const { return static_cast<size_t>(query * a_.s + key) % added_.size(); }
  float Entry(const std::byte* operand, int64_t row, int64_t key) const;

  const plugin::AttentionSpec a_;
  int64_t batches_ = 1, heads_ = 1;
  std::vector<float> added_;
  std::vector<char> hidden_;
  std::vector<char> seen_;  // per query: some key is visible
};

}  // namespace onednn
