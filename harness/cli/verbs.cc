// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/verbs.h"

#include <cerrno>
#include <cstdio>

#include "harness/cli/terminal/output.h"
#include "harness/exec/clean_text.h"

namespace assay::cli {
namespace {

constexpr size_t kMostMessageBytes = 1 << 16;  // of a message

}  // namespace

int Complain(int exit_code, const std::string& message) {
  if (std::fflush(stdout) != 0) NoteOutputError(errno);
  Note(CleanText(message, kMostMessageBytes, Lines::kKeep));
  return exit_code;
}

}  // namespace assay::cli
