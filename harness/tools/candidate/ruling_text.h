// SPDX-License-Identifier: Apache-2.0
// A judgement as one JSON object and as text.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/base/json.h"
#include "harness/core/base/stopwatch.h"
#include "harness/tools/candidate/ruling.h"

namespace assay {

inline constexpr int kRulingSchemaVersion = 1;

// Inputs and settings of the judgement.
struct RulingContext {
  std::string candidate_file, candidate_hash, candidate_version;  // SHA-256; versions of interpreter and frameworks
  std::string reference_file, reference_hash, reference_version;
  size_t undrawn = 0;  // hidden cases that were asked for, and that the reference does not take enough shapes for
  uint64_t hidden_seed = 0;
  bool drawn = true;                // the seed, by this program; else it was stated
  std::string sandbox, out, again;  // "full"; the folder of the run or ""; the command that judges by the same cases
  std::string tool_version;
  int rounds = 0;
  Stopwatch begun;
  double seconds = 0;
  int exit_code = 0;
};

Json RulingJson(const Ruling& ruling, const RulingContext& context);
std::string RulingText(const Ruling& ruling, const RulingContext& context);

}  // namespace assay
