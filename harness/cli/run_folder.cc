// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/environment.h"

namespace assay::cli {
namespace fs = std::filesystem;

Result<RunFolder> RunFolder::Create(fs::path path) {
  if (path.empty()) {
    std::string name = TimestampUtc();
    std::erase(name, ':');
    path = fs::path("out") / name;
    // Two runs within a second get folders of their own.
    for (int i = 2; fs::exists(path / "results.jsonl"); ++i) path = fs::path("out") / fmt::format("{}-{}", name, i);
  }
  if (fs::exists(path / "results.jsonl")) {
    return UsageError(
        fmt::format("{} holds another run (it has results.jsonl): give another --out or remove it", path.string()));
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return UsageError(
        fmt::format("cannot create the output folder {}: {}; give a writable --out", path.string(), error.message()));
  }
  RunFolder folder;
  folder.path_ = path;
  folder.results_.reset(std::fopen((path / "results.jsonl").c_str(), "wxe"));
  if (!folder.results_) {
    return UsageError(fmt::format("cannot write into the output folder {}: {}; give a writable --out", path.string(),
                                  std::strerror(errno)));
  }
  return folder;
}

Status RunFolder::WriteJson(const std::string& name, const nlohmann::ordered_json& content) const {
  return WriteText(name, content.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

Status RunFolder::WriteText(const std::string& name, const std::string& content) const {
  std::ofstream file(path_ / name, std::ios::binary);
  file << content;
  file.close();
  if (!file) return Fail(ErrorCode::kIo, fmt::format("cannot write {}: is the disk full?", (path_ / name).string()));
  return {};
}

Status RunFolder::Append(const Record& record) {
  const std::string line = ToJsonLine(record) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), results_.get()) != line.size() || std::fflush(results_.get()) != 0) {
    return Fail(ErrorCode::kIo,
                fmt::format("cannot append to {}: {}", (path_ / "results.jsonl").string(), std::strerror(errno)));
  }
  return {};
}

}  // namespace assay::cli
