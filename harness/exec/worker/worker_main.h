// SPDX-License-Identifier: Apache-2.0
// The other end of worker.h: the process that loads a plugin and calls it.
#pragma once

#include <string>

namespace assay {

// What `assay worker --fd N` runs: answers the host's messages on the socket `fd`, one at a time on this thread,
// until the host closes it. Returns the exit code.
int WorkerMain(int fd);

// The same without a supervisor of its own, in a process that a worker has become. `own_plugin` is loaded whatever the
// host names; "": what it names.
int ServeHost(int fd, const std::string& own_plugin);

}  // namespace assay
