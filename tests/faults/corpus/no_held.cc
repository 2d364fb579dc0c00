// SPDX-License-Identifier: Apache-2.0
// For the plugin without the held-back and the fresh part.
#include "tests/faults/corpus/entry.h"

namespace corpus {

std::vector<Entry> HeldEntries() {
  return {};
}
std::vector<Entry> FreshEntries() {
  return {};
}

}  // namespace corpus
