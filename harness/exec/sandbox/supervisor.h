// SPDX-License-Identifier: Apache-2.0
// One small process above each worker, which holds nothing of the host: everything that the worker starts is its
// descendant, also what leaves the session, and ends with the worker. The host sees the supervisor end as the worker
// did.
#pragma once

namespace assay {

// The folder of the worker, which the supervisor removes: the host may be gone by then.
inline constexpr const char* kFolderVariable = "ASSAY_WORKER_FOLDER";

// Returns in a new process, the worker, which leads a session of its own; the calling process becomes the supervisor
// and ends in here. SIGTERM, which it also gets when the thread of the host that started it ends, has it kill the
// worker. Precondition: there is one thread; `socket` is the worker's alone.
void RunSupervised(int socket);

}  // namespace assay
