// SPDX-License-Identifier: Apache-2.0
// Draws the results whose outputs a bundle keeps. The draw follows from a secret, whose SHA-256, the commitment, can be
// handed in before the run; from the hash of the run's files, which is known once the run has ended; and from
// challenges, which the receiver of the evidence states before the run or after that hash is handed in. Nobody knows
// the sample while the run runs, and with a challenge after it nobody can choose records by it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "harness/plan/selection.h"

namespace assay {

inline constexpr const char* kEvidenceFile = "evidence.json";

// Seeds that are drawn lie below: short enough to type.
inline constexpr uint64_t kDrawnSeeds = 1'000'000'000;

// The part of one run, or of one shard.
struct EvidenceDraw {
  std::string commitment;         // SHA-256 of the secret
  std::string secret, challenge;  // the secret is "" until the run has ended
  size_t count = 0;               // results that were asked for
  Shard shard;
};

struct Sample {
  std::vector<EvidenceDraw> draws;   // one of each shard, in the order of the merged run's environment.json
  std::string committed;             // hash of the files; "" before the bundle is made
  std::string challenge;             // stated after `committed` was handed in; "": none was
  std::vector<std::string> results;  // that were drawn, as ResultName() has them, in the order of the draw

  size_t Count() const;
};

// The member kEvidenceKey of environment.json. That file is part of CommittedHash(), unlike evidence.json: nobody can
// choose other terms once the last challenge is known.
Json TermsOf(const EvidenceDraw& draw);

std::string DrawSecret();  // 64 hex digits that nobody has seen
EvidenceDraw MakeDraw(std::string secret, std::string challenge, size_t count, const Shard& shard);

// A seed that nobody knows before the draw: from SHA-256("secret\nchallenge\nseed"), below `end`.
uint64_t SeedOf(const std::string& secret, const std::string& challenge, uint64_t end);

// SHA-256 over the lines of sha256sum of those files of a run that its records, their terms and its statements stand
// in: `sha256sum conformance.json control/results.jsonl ... | sha256sum`, without those that are not there.
std::string CommittedHash(const std::map<std::string, std::string>& files);

// The Count() texts with the smallest SHA-256 of secrets, challenges, `committed` and the text, in that order. Secrets
// and challenges follow each other as `draws` do: another order is another sample.
std::vector<std::string> DrawTexts(const std::vector<std::string>& texts, const Sample& sample);

std::string EvidenceJson(const Sample& sample);
Result<Sample> ParseEvidence(const std::string& text);

}  // namespace assay
