// SPDX-License-Identifier: Apache-2.0
// Records in little room: a record takes 3 kB and its texts 2 kB more, packed about 1 kB. What most fields have, which
// is nothing, takes a bit, and a text that many records have a byte or two.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/packed_text.h"
#include "harness/core/model/record.h"

namespace assay {

class RecordPacker {
 public:
  RecordPacker();
  void Append(const Record& record, std::string& bytes);
  // Every field of what Append wrote at `at`. Any number of threads may take at once, while none appends.
  void Take(const char* at, Record& record) const;

 private:
  std::vector<TextPacker> texts_, output_texts_;  // one for each field
};

}  // namespace assay
