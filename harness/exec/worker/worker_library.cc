// SPDX-License-Identifier: Apache-2.0
// The worker as a library, for an interpreter that has taken over the process of one (the request "become").
#include "backends/abi/assay_backend.h"
#include "harness/exec/worker/worker_main.h"

// Answers the host on `fd` until it is done. `plugin` is loaded whatever the host names: the file that it names is the
// interpreter's.
extern "C" ASSAY_EXPORT int32_t assay_worker_serve(int32_t fd, const char* plugin) {
  return assay::ServeHost(fd, plugin);
}
