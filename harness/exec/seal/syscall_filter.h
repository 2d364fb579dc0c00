// SPDX-License-Identifier: Apache-2.0
// Seccomp: system calls that no driver or kernel library needs, and that reach other processes or around Landlock, fail
// with EPERM. By hand and not with libseccomp, which cannot say "every number but these three" of one argument, as the
// rules about signals need.
#pragma once

#include "harness/base/result.h"

namespace assay {

// Of the calling process and what it starts; Precondition: no_new_privs. `signals`: Landlock does not keep signals from
// other processes, so this does: a process then signals itself and its group only, not what it started either.
Status RefuseSystemCalls(bool signals);

}  // namespace assay
