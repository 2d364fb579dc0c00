// SPDX-License-Identifier: Apache-2.0
#include "harness/results/run_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "harness/base/atomic_file.h"
#include "harness/base/json_text.h"
#include "harness/results/environment.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Whatever stands there belongs to someone: a run neither mixes its files with others nor writes over them.
Status CheckEmpty(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / "results.jsonl", error)) {
    return UsageError(
        fmt::format("{} holds another run (it has results.jsonl): give another --out or remove it", path.string()));
  }
  const fs::directory_iterator first(path, error);
  if (error || first == fs::directory_iterator()) return {};
  return UsageError(fmt::format("the output folder {} is not empty (it has {}): give a new or an empty --out",
                                path.string(), first->path().filename().string()));
}

}  // namespace

Result<RunFolder> RunFolder::Create(fs::path path) {
  if (path.empty()) {
    std::error_code error;
    std::string name = TimestampUtc();
    std::erase(name, ':');
    path = fs::path("out") / name;
    // Two runs within a second get folders of their own.
    for (int i = 2; fs::exists(path, error); ++i) path = fs::path("out") / fmt::format("{}-{}", name, i);
  }
  if (Status empty = CheckEmpty(path); !empty) return tl::unexpected(empty.error());
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return UsageError(
        fmt::format("cannot create the output folder {}: {}; give a writable --out", path.string(), error.message()));
  }
  RunFolder folder;
  folder.path_ = path;
  folder.results_.reset(std::fopen((path / "results.jsonl").c_str(), "wxe"));
  if (folder.results_) folder.offers_.reset(std::fopen((path / kOffersFile).c_str(), "wxe"));
  if (!folder.offers_) {
    return UsageError(fmt::format("cannot write into the output folder {}: {}; give a writable --out", path.string(),
                                  std::strerror(errno)));
  }
  return folder;
}

Status RunFolder::WriteJson(const std::string& name, const nlohmann::ordered_json& content) const {
  return WriteText(name, DumpJson(content, 2) + "\n");
}

Status RunFolder::WriteText(const std::string& name, const std::string& content) const {
  return WriteFileAtomically(path_ / name, {{content.data(), content.size()}});
}

Status RunFolder::Append(const Record& record) {
  return AppendLine(results_, "results.jsonl", ToJsonLine(record) + "\n");
}

Status RunFolder::Append(const Offer& offer) {
  return AppendLine(offers_, kOffersFile, ToJsonLine(offer) + "\n");
}

Status RunFolder::Rewrite(const std::vector<Record>& records) {
  std::string text;
  for (const Record& record : records) text += ToJsonLine(record) + "\n";
  const fs::path path = path_ / "results.jsonl";
  if (auto status = WriteFileAtomically(path, {{text.data(), text.size()}}); !status) return status;
  results_.reset(std::fopen(path.c_str(), "ae"));
  if (results_) return {};
  return Fail(ErrorCode::kIo, fmt::format("cannot append to {}: {}", path.string(), std::strerror(errno)));
}

Status RunFolder::AppendLine(const File& file, const char* name, const std::string& line) const {
  if (std::fwrite(line.data(), 1, line.size(), file.get()) == line.size() && std::fflush(file.get()) == 0) return {};
  return Fail(ErrorCode::kIo, fmt::format("cannot append to {}: {}", (path_ / name).string(), std::strerror(errno)));
}

}  // namespace assay
