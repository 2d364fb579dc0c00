// SPDX-License-Identifier: Apache-2.0
// The other end of worker.h: the process that loads a plugin and calls it.
#pragma once

#include <string>

namespace assay {

// Runs `assay worker --fd N`: answers the host's messages on the socket `fd`, one at a time on this thread, until the
// host closes it. Returns the exit code.
int WorkerMain(int fd);

// Serves the host without a supervisor, in a program that a worker has become. Loads `own_plugin` whatever the host
// names, or what it names if that is "".
int ServeHost(int fd, const std::string& own_plugin);

}  // namespace assay
