// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/record_file.h"

#include <fmt/format.h>

#include <fstream>

#include "harness/core/base/json_text.h"

namespace assay {

Result<std::string> ReadEachRecord(const std::filesystem::path& jsonl, const std::function<void(Record)>& take) {
  std::ifstream file(jsonl);
  if (!file) {
    return Fail(ErrorCode::kIo, fmt::format("cannot read {}: give the output folder of a run", jsonl.string()));
  }
  std::string line, torn;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    auto record = FromJsonLine(line);
    // A run that was killed can leave one torn line, without its newline: everything before it is good.
    if (!record && file.eof() && !IsJson(line)) {
      torn = fmt::format("{}:{}: the last line is torn, as a killed run leaves it; its result is left out",
                         jsonl.string(), number);
      break;
    }
    if (!record) return Fail(ErrorCode::kIo, fmt::format("{}:{}: {}", jsonl.string(), number, record.error().message));
    take(*std::move(record));
  }
  if (file.bad()) {  // a folder, which can be opened, or a disk that fails
    return Fail(ErrorCode::kIo, fmt::format("{}: cannot be read to its end", jsonl.string()));
  }
  return torn;
}

Result<RecordFile> ReadRecords(const std::filesystem::path& jsonl) {
  RecordFile out;
  auto torn = ReadEachRecord(jsonl, [&out](Record record) { out.records.push_back(std::move(record)); });
  if (!torn) return tl::unexpected(torn.error());
  out.torn = *std::move(torn);
  return out;
}

}  // namespace assay
