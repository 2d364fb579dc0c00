// SPDX-License-Identifier: Apache-2.0
// Which cases' outputs are kept: drawn by a secret, whose SHA-256, the commitment, can be handed in before the run, and
// by a challenge, which whoever gets the evidence can state after that. Neither side then chooses the cases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace assay {

inline constexpr const char* kEvidenceFile = "evidence.json";

// Seeds that are drawn lie below: short enough to type.
inline constexpr uint64_t kDrawnSeeds = 1'000'000'000;

struct EvidenceDraw {
  std::string commitment;  // SHA-256 of the secret
  std::string secret, challenge;
  size_t count = 0;  // as asked for
  Shard shard;
  std::vector<std::string> cases;  // drawn of those of the shard
};

std::string DrawSecret();  // 64 hex digits that nobody has seen

// The cases whose SHA-256("secret\nchallenge\nid") is smallest, in that order.
std::vector<std::string> DrawCases(const std::vector<std::string>& ids, const EvidenceDraw& draw);

// A seed that nobody knows before the draw: of SHA-256("secret\nchallenge\nseed"), below `end`.
uint64_t SeedOf(const std::string& secret, const std::string& challenge, uint64_t end);

// Of the plan's shard. `secret`: text of a file whose hash was handed in, or DrawSecret().
EvidenceDraw MakeDraw(const Plan& plan, std::string secret, std::string challenge, size_t count);

// What is wrong with the draw: "" where commitment and cases follow from its secret. `plan` is that of its shard, or
// of the whole run.
std::string WrongWith(const EvidenceDraw& draw, const Plan& plan);

std::string EvidenceJson(const std::vector<EvidenceDraw>& draws);
Result<std::vector<EvidenceDraw>> ParseEvidence(const std::string& text);

}  // namespace assay
