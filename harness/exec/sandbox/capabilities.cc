// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/capabilities.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace assay {

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

}  // namespace assay
