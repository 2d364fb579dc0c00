// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus/later/later.h"

#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/later/entries.h"

namespace corpus {

std::vector<Entry> LaterEntries() {
  return Joined({MatmulLater(), ConvLater(), AttentionLater(), SoftmaxLater(), ReduceLater(), FftLater()});
}

}  // namespace corpus
