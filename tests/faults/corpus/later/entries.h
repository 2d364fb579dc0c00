// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/faults/corpus/entry.h"

namespace corpus {

// Entries named in studied.txt and unseen.txt.
std::vector<Entry> LaterEntries();

}  // namespace corpus
