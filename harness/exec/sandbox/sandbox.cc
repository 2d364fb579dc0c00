// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/sandbox.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/exec/sandbox/syscall_filter.h"

namespace assay {
namespace {

// Takes from root what makes it root: a worker of a host that root runs may no more than one of any other user. Also
// sets no_new_privs: what is started later does not regain it.
Status DropPrivileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("no_new_privs: {}", std::strerror(errno)));
  }
  // Refused to whoever has none to give up.
  for (unsigned long capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) == 0) return {};
  return Fail(ErrorCode::kIo, fmt::format("capabilities cannot be dropped: {}", std::strerror(errno)));
}

// Restricts files and says what the kernel does not support, for the readers of a report.
std::vector<std::string> FileGaps(const LandlockSupport& support, const Sandbox& sandbox) {
  if (!support.files()) {
    return {
        "this kernel has no Landlock of Linux 5.19 or later: the plugin can read and write what this user can, and see "
        "the command lines of other processes"};
  }
  if (Status status = RestrictFiles(support, sandbox.files); !status) return {status.error().message};
  if (!support.devices()) return {"the kernel is older than 6.10: ioctl on open devices is not restricted"};
  return {};
}

}  // namespace

Json EncodeSandbox(const Sandbox& sandbox) {
  Json files = Json::array();
  for (const FileGrant& grant : sandbox.files) files.push_back({{"path", grant.path}, {"use", grant.use}});
  const WorkerLimits& l = sandbox.limits;
  return {{"sealed", sandbox.is_on},
          {"files", std::move(files)},
          {"limits", {l.memory_bytes, l.file_bytes, l.processes, l.descriptors}}};
}

Sandbox DecodeSandbox(const Json& json) {
  Sandbox sandbox;
  sandbox.is_on = json.at("sealed");
  for (const Json& grant : json.at("files")) sandbox.files.push_back({grant.at("path"), grant.at("use")});
  const Json& l = json.at("limits");
  sandbox.limits = {l.at(0), l.at(1), l.at(2), l.at(3)};
  return sandbox;
}

std::string EnterSandbox(const Sandbox& sandbox) {
  if (!sandbox.is_on) return kNoSandbox;
  ApplyLimits(sandbox.limits);
  if (Status status = DropPrivileges(); !status) return fmt::format("partial: {}", status.error().message);
  const LandlockSupport landlock = FindLandlock();
  std::vector<std::string> gaps = FileGaps(landlock, sandbox);
  if (Status status = RefuseSystemCalls(/*signals=*/!landlock.signals()); !status)
    gaps.push_back(status.error().message);
  return gaps.empty() ? kFullSandbox : fmt::format("partial: {}", fmt::join(gaps, "; "));
}

}  // namespace assay
