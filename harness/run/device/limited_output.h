// SPDX-License-Identifier: Apache-2.0
// What a program prints, which nobody waits for without end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

enum class ProgramEnd : uint8_t { kWell, kBadly, kLate, kInterrupted };  // kBadly: also where it could not begin

struct LimitedOutput {
  ProgramEnd end = ProgramEnd::kBadly;
  std::string text;  // of its standard output until then, the last mebibyte
};

// Runs the program `words[0]`, which is looked for on the PATH, with the other words as arguments, without an input and
// without its messages. It is late after `limit_s` seconds, and then killed with all that it started, as it is where a
// signal interrupts this thread.
LimitedOutput RunWithin(double limit_s, std::vector<std::string> words);

}  // namespace assay
