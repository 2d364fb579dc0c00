// SPDX-License-Identifier: Apache-2.0
// Interface between a fuzz target and fuzz_main.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace assay {

// Inputs that are right, to start from.
std::vector<std::string> FuzzCorpus();

// The parts of the input that have to be right for the rest to be looked at (a header's length, a checksum) made so.
void RepairInput(std::string& input);

// How often an input, and how often none, came out of the reader: a target that never gets past its first check proves
// nothing.
struct FuzzCounts {
  uint64_t accepted = 0, refused = 0;
};
extern FuzzCounts fuzz_counts;

}  // namespace assay
