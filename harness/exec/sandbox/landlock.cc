// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/landlock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "harness/exec/unique_fd.h"

namespace assay {
namespace {

// linux/landlock.h. The numbers of the calls are the same on every architecture.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kVersionFlag = 1, kPathBeneath = 1;
struct Ruleset {
  uint64_t files, network, scopes;
};
struct __attribute__((packed)) PathRule {
  uint64_t access;
  int32_t parent;
};

enum FileRight : uint64_t {
  kExecuteFile = 1 << 0,
  kWriteFile = 1 << 1,
  kReadFile = 1 << 2,
  kReadFolder = 1 << 3,
  kUpToMakeSymlink = (1 << 13) - 1,  // all of version 1
  kRename = 1 << 13,                 // 2: from one folder to another
  kTruncateFile = 1 << 14,           // 3
  kDeviceControl = 1 << 15,          // 5
};
constexpr uint64_t kScopes = 1 << 0 | 1 << 1;  // 6: abstract sockets, signals
constexpr uint64_t kOfFiles = kExecuteFile | kWriteFile | kReadFile | kTruncateFile | kDeviceControl;

uint64_t AllRights(const LandlockSupport& support) {
  uint64_t rights = kUpToMakeSymlink | kRename;
  if (support.version >= 3) rights |= kTruncateFile;
  if (support.devices()) rights |= kDeviceControl;
  return rights;
}

tl::unexpected<Error> LandlockError(const char* what) {
  return Fail(ErrorCode::kIo, fmt::format("Landlock: {}: {}", what, std::strerror(errno)));
}

uint64_t RightsFor(FileUse use, uint64_t handled) {
  if (use == FileUse::kWrite) return handled;
  return use == FileUse::kList ? kReadFolder : kReadFolder | kExecuteFile | kReadFile;
}

Status AddGrant(int ruleset, const FileGrant& grant, uint64_t handled) {
  const UniqueFd path(::open(grant.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!path || ::fstat(path.get(), &info) != 0) return {};
  uint64_t access = RightsFor(grant.use, handled);
  if (!S_ISDIR(info.st_mode)) access &= kOfFiles & handled;
  if (access == 0) return {};
  const PathRule rule{access, path.get()};
  if (::syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0) return {};
  return LandlockError(grant.path.c_str());
}

}  // namespace

LandlockSupport FindLandlock() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kVersionFlag);
  return {version > 0 ? static_cast<int>(version) : 0};
}

Status RestrictFiles(const LandlockSupport& support, std::span<const FileGrant> grants) {
  const Ruleset rules{AllRights(support), 0, support.signals() ? kScopes : 0};
  // Kernels take a longer struct than they know, as long as what they do not know is zero.
  const UniqueFd ruleset(static_cast<int>(::syscall(kCreateRuleset, &rules, sizeof rules, 0)));
  if (!ruleset) return LandlockError("no set of rules");
  for (const FileGrant& grant : grants) {
    if (Status added = AddGrant(ruleset.get(), grant, rules.files); !added) return added;
  }
  if (::syscall(kRestrictSelf, ruleset.get(), 0) != 0) return LandlockError("the rules are refused");
  return {};
}

}  // namespace assay
