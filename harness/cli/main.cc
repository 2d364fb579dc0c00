// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <exception>
#include <string>
#include <string_view>

#include "harness/cli/verbs.h"

namespace {

// A worker's memory is the plugin's: it is as the system has it, so that a backend is measured, and fails, as it would
// in any other program.
bool IsWorker(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "worker";
}

// Tensors come and go by the thousand in a run. Returned to the kernel each time, their pages would be faulted in and
// cleared again for every execution.
void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace

int main(int argc, char** argv) try {
  if (!IsWorker(argc, argv)) KeepFreedMemory();
  return assay::cli::Main(argc, argv);
} catch (const std::exception& e) {
  return assay::cli::Complain(assay::kExitHarness, std::string("internal error: ") + e.what());
}
