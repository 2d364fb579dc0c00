// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/verbs.h"

#include <cerrno>
#include <cstdio>

#include "harness/cli/output.h"

namespace assay::cli {

int Complain(int exit_code, const std::string& message) {
  if (std::fflush(stdout) != 0) NoteOutputError(errno);
  Note(message);
  return exit_code;
}

}  // namespace assay::cli
