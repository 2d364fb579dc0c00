// SPDX-License-Identifier: Apache-2.0
// Seccomp: system calls that no driver or kernel library needs, and that reach other processes or around Landlock, fail
// with EPERM. By hand and not with libseccomp, which cannot say "every number but these three" of one argument, as the
// rules about signals need.
#pragma once

#include "harness/core/base/result.h"

namespace assay {

// Applies to the calling process and what it starts. Precondition: no_new_privs. `signals`: Landlock cannot restrict
// signals, so this filter does. A process can then signal itself and its group only, not even its own children.
Status RefuseSystemCalls(bool signals);

}  // namespace assay
