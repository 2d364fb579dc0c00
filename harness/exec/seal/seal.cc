// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/seal/seal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "harness/exec/seal/capabilities.h"
#include "harness/exec/seal/syscall_filter.h"

namespace assay {
namespace {

// Restricts files and says what the kernel does not support, for the readers of a report.
std::vector<std::string> FileGaps(const LandlockSupport& support, const Seal& seal) {
  if (!support.files()) {
    return {
        "this kernel has no Landlock, or one before Linux 5.19: the plugin can read and write what this user can, "
        "and see the command lines of other processes"};
  }
  if (Status status = RestrictFiles(support, seal.files); !status) return {status.error().message};
  if (!support.devices()) return {"the kernel is older than 6.10: ioctl on open devices is not restricted"};
  return {};
}

}  // namespace

Json EncodeSeal(const Seal& seal) {
  Json files = Json::array();
  for (const FileGrant& grant : seal.files) files.push_back({{"path", grant.path}, {"use", grant.use}});
  const WorkerLimits& l = seal.limits;
  return {{"sealed", seal.sealed},
          {"files", std::move(files)},
          {"limits", {l.memory_bytes, l.file_bytes, l.processes, l.descriptors}}};
}

Seal DecodeSeal(const Json& json) {
  Seal seal;
  seal.sealed = json.at("sealed");
  for (const Json& grant : json.at("files")) seal.files.push_back({grant.at("path"), grant.at("use")});
  const Json& l = json.at("limits");
  seal.limits = {l.at(0), l.at(1), l.at(2), l.at(3)};
  return seal;
}

std::string ApplySeal(const Seal& seal) {
  if (!seal.sealed) return kNoSeal;
  ApplyLimits(seal.limits);
  if (Status status = DropPrivileges(); !status) return fmt::format("partial: {}", status.error().message);
  const LandlockSupport landlock = FindLandlock();
  std::vector<std::string> gaps = FileGaps(landlock, seal);
  if (Status status = RefuseSystemCalls(/*signals=*/!landlock.signals()); !status)
    gaps.push_back(status.error().message);
  return gaps.empty() ? kFullSeal : fmt::format("partial: {}", fmt::join(gaps, "; "));
}

}  // namespace assay
