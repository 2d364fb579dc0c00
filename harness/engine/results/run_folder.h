// SPDX-License-Identifier: Apache-2.0
// The output folder of a run (DESIGN: files of a run): results.jsonl is appended to, one line per record, and
// offers.jsonl, one per case and device before anything of it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "harness/core/base/text_sink.h"
#include "harness/core/model/record_list.h"
#include "harness/engine/results/durable_lines.h"
#include "harness/engine/results/missing.h"

namespace assay {

class RunFolder {
 public:
  // Creates it. An empty path means out/<UTC time>. Errors: it is not empty, it cannot be written.
  static Result<RunFolder> Create(std::filesystem::path path);

  // That of a run which ended before its time: its records become `records`, and its offers `offers`. Errors: another
  // run writes there, it cannot be written.
  static Result<RunFolder> Continue(std::filesystem::path path, const RecordView& records,
                                    const std::vector<Offer>& offers);

  const std::filesystem::path& path() const { return path_; }
  // Errors: another folder, or a link to one, stands in its place.
  Status CheckItself() const;
  Status WriteJson(const std::string& name, const Json& content) const;
  Status WriteText(const std::string& name, const std::string& content) const;
  // Writes a text that `write` passes to a sink in parts.
  Status StreamText(const std::string& name, const std::function<void(const TextSink&)>& write) const;
  Status Append(const Record& record);
  Status Append(const Offer& offer);
  // Returns once everything appended is on the disk; without it that takes a second. Errors: the disk fails.
  Status Sync();
  void SetWait(RoomWait wait);
  // Replaces all records that were appended. The old file stays until the new one is complete.
  Status Rewrite(const RecordView& records);

 private:
  Status Open(DurableLines::Mode mode);

  // Identity of the folder, to notice a link or another folder in its place, which would redirect what is written.
  struct Identity {
    uint64_t device = 0, file = 0;
    bool operator==(const Identity&) const = default;
  };
  static Identity IdentityOf(const std::filesystem::path& path);

  Identity identity_;
  std::filesystem::path path_;
  std::unique_ptr<DurableLines> results_, offers_;
  RoomWait wait_;
};

}  // namespace assay
