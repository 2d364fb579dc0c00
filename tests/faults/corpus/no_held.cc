// SPDX-License-Identifier: Apache-2.0
// For the plugin without the held-back part.
#include "tests/faults/corpus/entry.h"

namespace corpus {

std::vector<Entry> HeldEntries() {
  return {};
}

}  // namespace corpus
