// SPDX-License-Identifier: Apache-2.0
// An attention that is composed of whole products meets hidden keys: a score of NaN or +inf plus a mask of -inf is NaN,
// and a probability of 0 times NaN or an infinity in v is NaN. Here is what keeps them out of rows that may not see
// them; the products and the softmax stay the library's.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/common/attention_spec.h"
#include "backends/onednn/key_mask.h"

namespace onednn {

// Whether a row from which keys are hidden came out with a NaN: only then can a hidden key have got through.
bool MayHaveLeaked(const plugin::AttentionSpec& a, const KeyMask& mask, const std::byte* o);

// Scores [batch, head, l, s] without a mask become masked ones: -inf where hidden, the mask's entry added elsewhere.
void MaskScores(const plugin::AttentionSpec& a, const KeyMask& mask, float* scores);

// An infinity or NaN in v.
struct SpecialValue {
  int64_t batch = 0, head = 0, key = 0, column = 0;
  float value = 0;
};

// Takes them out of a copy of v, where zeros take their places.
std::vector<SpecialValue> TakeSpecialValues(const plugin::AttentionSpec& a, std::byte* v);

// Adds p * value to the elements of o that see it. p is [batch, head, l, s] in the type of v.
void AddSpecialValues(const plugin::AttentionSpec& a, const KeyMask& mask, const std::vector<SpecialValue>& specials,
                      const std::byte* p, std::byte* o);

// A softmax of -inf alone is NaN; what a query gives that sees no key is the case's to say.
void FillRowsWithoutKeys(const plugin::AttentionSpec& a, const KeyMask& mask, std::byte* o);

}  // namespace onednn
