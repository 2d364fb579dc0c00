// SPDX-License-Identifier: Apache-2.0
// Root without what makes it root: a worker of a host that root runs may no more than one of any other user.
#pragma once

#include "harness/core/base/result.h"

namespace assay {

// Also sets no_new_privs: what is started later does not regain them.
Status DropPrivileges();

}  // namespace assay
