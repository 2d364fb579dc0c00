// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <string>

#include "harness/cli/process.h"
#include "harness/cli/verbs.h"

int main(int argc, char** argv) try {
  assay::cli::PrepareProcess(argc, argv);
  return assay::cli::Main(argc, argv);
} catch (const std::exception& e) {
  return assay::cli::Complain(assay::kExitHarness, std::string("internal error: ") + e.what());
}
