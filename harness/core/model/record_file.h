// SPDX-License-Identifier: Apache-2.0
// results.jsonl as it stands on the disk.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "harness/core/base/result.h"
#include "harness/core/model/record_list.h"

namespace assay {

struct RecordFile {
  RecordList records;
  std::string torn;  // what to say of a last line that its writer did not finish; "" when there is none
};

// Errors name the file and the line, and what to do.
Result<RecordFile> ReadRecords(const std::filesystem::path& jsonl);

// Streams the records to `take` instead of collecting them. Returns RecordFile::torn.
Result<std::string> ReadEachRecord(const std::filesystem::path& jsonl, const std::function<void(Record)>& take);

}  // namespace assay
