// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <exception>
#include <string>

#include "harness/cli/verbs.h"

namespace {

// Tensors come and go by the thousand in a run, on the main threads here and in its workers. Returned to the kernel
// each time, their pages would be faulted in and cleared again for every execution.
void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace

int main(int argc, char** argv) try {
  KeepFreedMemory();
  return assay::cli::Main(argc, argv);
} catch (const std::exception& e) {
  return assay::cli::Complain(assay::kExitHarness, std::string("internal error: ") + e.what());
}
