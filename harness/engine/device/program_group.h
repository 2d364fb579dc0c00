// SPDX-License-Identifier: Apache-2.0
// A program that runs in a process group of its own, so that all that it starts can be ended with it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace assay {

struct ProgramStart {
  std::vector<std::string> words;           // the program, which is looked for on the PATH, and its arguments
  std::vector<std::string> variables = {};  // "NAME=value", before those of this process
  int output = -1;                          // the descriptor that is its standard output
  bool has_input = false;                   // it reads the standard input of this process; else it has none
  bool has_errors = true;                   // its messages go where those of this process go; else nowhere
};

class ProgramGroup {
 public:
  explicit ProgramGroup(ProgramStart start);

  int problem() const { return problem_; }  // errno's number, of a program that cannot begin; 0: it has begun

  // Precondition of both: it has begun.
  std::optional<int> Ended();  // the status of waitpid; nothing while it runs
  void Kill();                 // with all that it started, unless that left the group

 private:
  pid_t child_ = 0;
  int problem_ = 0;
  std::optional<int> status_;
};

}  // namespace assay
