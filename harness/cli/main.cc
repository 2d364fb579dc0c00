// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <string>

#include "harness/cli/verbs.h"

int main(int argc, char** argv) try { return assay::cli::Main(argc, argv); } catch (const std::exception& e) {
  return assay::cli::Complain(assay::cli::kExitHarness, std::string("internal error: ") + e.what());
}
