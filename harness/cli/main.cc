// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/process.h"
#include "harness/cli/verbs.h"

int main(int argc, char** argv) {
  return assay::cli::RunOnLargeStack([&] {
    assay::cli::PrepareProcess(argc, argv);
    return assay::cli::Main(argc, argv);
  });
}
