// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/run_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/results/environment.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kResultsFile = "results.jsonl";

// Whatever stands there belongs to someone: a run neither mixes its files with others nor writes over them.
Status CheckEmpty(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / kResultsFile, error)) {
    return UsageError(fmt::format(
        "{} contains another run (it has results.jsonl): give another --out or remove it. One that assay run "
        "left unfinished is continued by its command and --resume",
        path.string()));
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
  if (auto opened = folder.Open(DurableLines::Mode::kCreate); !opened) {
    return UsageError(opened.error().message + "; give a writable --out");
  }
  return folder;
}

// The offers are opened first: whoever has them open is the one who writes into the folder.
Status RunFolder::Open(DurableLines::Mode mode) {
  auto offers = DurableLines::Open(path_ / kOffersFile, mode);
  if (!offers) return tl::unexpected(offers.error());
  auto results = DurableLines::Open(path_ / kResultsFile, mode);
  if (!results) return tl::unexpected(results.error());
  offers_ = *std::move(offers);
  results_ = *std::move(results);
  identity_ = IdentityOf(path_);
  return {};
}

RunFolder::Identity RunFolder::IdentityOf(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

Status RunFolder::CheckItself() const {
  if (IdentityOf(path_) == identity_) return {};
  return Fail(ErrorCode::kIo, fmt::format("{} is no longer the folder in which this run began, so nothing is written "
                                          "there: restore that folder and use --resume",
                                          path_.string()));
}

Result<RunFolder> RunFolder::Continue(fs::path path, const RecordView& records, const std::vector<Offer>& offers) {
  RunFolder folder;
  folder.path_ = std::move(path);
  if (auto opened = folder.Open(DurableLines::Mode::kContinue); !opened) {
    return UsageError(opened.error().message + "; the run cannot be continued");
  }
  if (auto status = folder.Rewrite(records); !status) return tl::unexpected(status.error());
  if (auto status = folder.offers_->Clear(); !status) return tl::unexpected(status.error());
  for (const Offer& offer : offers) {
    if (auto status = folder.Append(offer); !status) return tl::unexpected(status.error());
  }
  return folder;
}

Status RunFolder::WriteJson(const std::string& name, const Json& content) const {
  return WriteText(name, DumpJson(content, 2) + "\n");
}

Status RunFolder::WriteText(const std::string& name, const std::string& content) const {
  if (Status status = CheckItself(); !status) return status;
  return WriteFileAtomically(path_ / name, {{content.data(), content.size()}});
}

Status RunFolder::StreamText(const std::string& name, const std::function<void(const TextSink&)>& write) const {
  if (Status status = CheckItself(); !status) return status;
  return StreamFileAtomically(path_ / name, write);
}

Status RunFolder::Append(const Record& record) {
  return results_->Append(ToJsonLine(record) + "\n");
}

Status RunFolder::Append(const Offer& offer) {
  return offers_->Append(ToJsonLine(offer) + "\n");
}

Status RunFolder::Sync() {
  const Status results = results_->Sync(), offers = offers_->Sync();
  return results ? offers : results;
}

void RunFolder::SetWait(RoomWait wait) {
  wait_ = std::move(wait);
  results_->SetWait(wait_);
  offers_->SetWait(wait_);
}

Status RunFolder::Rewrite(const RecordView& records) {
  const auto write = [&records](const TextSink& sink) {
    for (const Record& record : records) sink(ToJsonLine(record) + "\n");
  };
  if (Status status = CheckItself(); !status) return status;
  const fs::path path = path_ / kResultsFile;
  if (auto status = StreamFileAtomically(path, write); !status) return status;
  auto results = DurableLines::Open(path, DurableLines::Mode::kContinue);
  if (!results) return tl::unexpected(results.error());
  results_ = *std::move(results);
  results_->SetWait(wait_);
  return {};
}

}  // namespace assay
