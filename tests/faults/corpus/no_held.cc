// SPDX-License-Identifier: Apache-2.0
// For the plugin that has the tuned part alone.
#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/later/entries.h"

namespace corpus {

std::vector<Entry> HeldEntries() {
  return {};
}
std::vector<Entry> FreshEntries() {
  return {};
}
std::vector<Entry> LaterEntries() {
  return {};
}

}  // namespace corpus
