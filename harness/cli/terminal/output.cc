// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "harness/cli/verbs.h"

namespace assay::cli {
namespace {

int output_error = 0;  // errno of the first failure

bool ReaderHasLeft() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace

void KeepStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is the one that is closed.
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void NoteOutputError(int error_number) {
  if (output_error == 0) output_error = error_number;
}

void Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) NoteOutputError(errno);
}

void Note(std::string_view line) {
  std::fputs(fmt::format("assay: {}\n", line).c_str(), stderr);
}

int FinishOutput(int code) {
  if (std::fflush(stdout) != 0) NoteOutputError(errno);
  // Who looks at no result, such as the writer of --help, leaves this mark alone.
  if (std::ferror(stdout) != 0) NoteOutputError(ReaderHasLeft() ? EPIPE : EIO);
  if (output_error == 0 || output_error == EPIPE) return code;
  Note(fmt::format("cannot write to standard output: {}. Send it elsewhere; the files of a run are complete",
                   std::strerror(output_error)));
  return code == kExitInterrupted || code == kExitUsage ? code : kExitHarness;
}

}  // namespace assay::cli
