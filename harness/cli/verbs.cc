// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/verbs.h"

#include <fmt/format.h>

#include <cstdio>

namespace assay::cli {

int Complain(int exit_code, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "assay: {}\n", message);
  return exit_code;
}

}  // namespace assay::cli
