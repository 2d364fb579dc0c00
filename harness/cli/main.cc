// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <exception>
#include <string>
#include <string_view>

#include "harness/cases/host_memory.h"
#include "harness/cli/verbs.h"

namespace {

// A worker's memory is the plugin's: it is as the system has it, so that a backend is measured, and fails, as it would
// in any other program.
bool IsWorker(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "worker";
}

}  // namespace

int main(int argc, char** argv) try {
  umask(umask(0) | S_IWOTH);  // records are evidence: nobody else writes to them, whatever the shell says
  if (!IsWorker(argc, argv)) assay::KeepFreedMemory();
  return assay::cli::Main(argc, argv);
} catch (const std::exception& e) {
  return assay::cli::Complain(assay::kExitHarness, std::string("internal error: ") + e.what());
}
