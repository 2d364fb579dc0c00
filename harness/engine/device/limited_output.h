// SPDX-License-Identifier: Apache-2.0
// Runs a program with a time limit and collects what it prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

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
