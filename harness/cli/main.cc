// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "harness/cli/process.h"
#include "harness/cli/verbs.h"

int main(int argc, char** argv) try {
  assay::cli::PrepareProcess(argc, argv);
  return assay::cli::Main(argc, argv);
} catch (const std::exception& e) {
  return assay::cli::ComplainOfException(e);
}
