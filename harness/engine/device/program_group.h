// SPDX-License-Identifier: Apache-2.0
// Programs that run in a process group of their own, so that all that they start can be ended with them.
#pragma once

#include <sys/types.h>

#include <cstdint>
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

enum class ProgramEnd : uint8_t { kWell, kBadly, kLate, kInterrupted };  // kBadly: also where it could not begin

struct LimitedOutput {
  ProgramEnd end = ProgramEnd::kBadly;
  std::string text;  // the last mebibyte of standard output
};

// Runs the program `words[0]`, found on the PATH, with the other words as arguments. It has no input, and its error
// output is dropped. It is killed with all that it started after `limit_s` seconds, or if a signal interrupts this
// thread.
LimitedOutput RunWithin(double limit_s, std::vector<std::string> words);

}  // namespace assay
