// SPDX-License-Identifier: Apache-2.0
// The output folder of a run (DESIGN: files of a run): results.jsonl is appended to, one flushed line per record, and
// offers.jsonl, one per case and device before anything of it runs.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/record.h"
#include "harness/results/missing.h"

namespace assay {

class RunFolder {
 public:
  // Creates it. An empty path means out/<UTC time>. Errors: it is not empty, it cannot be written.
  static Result<RunFolder> Create(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  Status WriteJson(const std::string& name, const nlohmann::ordered_json& content) const;
  Status WriteText(const std::string& name, const std::string& content) const;
  Status Append(const Record& record);
  Status Append(const Offer& offer);
  // In the place of all records that were appended: the old file is there until the new one is complete.
  Status Rewrite(const std::vector<Record>& records);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;
  Status AppendLine(const File& file, const char* name, const std::string& line) const;

  std::filesystem::path path_;
  File results_, offers_;
};

}  // namespace assay
