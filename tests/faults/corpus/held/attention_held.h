// SPDX-License-Identifier: Apache-2.0
// Attention whose steps are rows of tables.
#pragma once

#include <vector>

#include "tests/faults/corpus/attention_plan.h"
#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

// The place of the query's diagonal among the keys.
inline int64_t DiagonalOf(const AttentionSpec& s, const Query& q) {
  return q.row + (s.top_left ? 0 : s.s - s.l);
}

std::vector<Entry> AttentionHeldKeys();    // keys, heads, masks, places
std::vector<Entry> AttentionHeldScores();  // scores, exponentials, sums
std::vector<Entry> AttentionHeldLegal();

}  // namespace corpus
