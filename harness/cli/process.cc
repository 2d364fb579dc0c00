// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/process.h"

#include <sys/stat.h>

#include <string_view>

#include "harness/cases/host_memory.h"

namespace assay::cli {

bool IsWorker(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "worker";
}

// A worker's memory is the plugin's: it is as the system has it, so that a backend is measured, and fails, as it would
// in any other program.
void PrepareProcess(int argc, char** argv) {
  umask(umask(0) | S_IWOTH);  // records are evidence: nobody else writes to them, whatever the shell says
  if (!IsWorker(argc, argv)) KeepFreedMemory();
}

}  // namespace assay::cli
