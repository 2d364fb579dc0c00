// SPDX-License-Identifier: Apache-2.0
// A bundle that was read, and the checks that verify.cc goes through. Private to it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/json_text.h"
#include "harness/engine/results/finished_run.h"
#include "harness/engine/results/missing.h"
#include "harness/plan/plan.h"
#include "harness/tools/bundle/container.h"
#include "harness/tools/bundle/draw.h"
#include "harness/tools/bundle/verify.h"

namespace assay {

struct BundleContents {
  const BundleFiles& files;
  std::filesystem::path folder;  // with the files
  Plan plan;
  std::map<std::string, const PlanEntry*> entries;  // by id
  FinishedRun run;                                  // with what is missing
  std::vector<Offer> offers;
  std::vector<Record> control;  // of a negative control; empty without one
  Json environment, statement;  // objects
  std::optional<Sample> sample;

  bool IsMerged() const { return environment.contains("merged"); }
  bool IsShard() const { return plan.shard.count > 1; }
  // The planned cases that this run had to execute; a plan has those of all shards.
  int64_t CountOwnCases() const;
};

// Returns nullopt, and adds a contradiction, if a part that everything else needs cannot be read.
std::optional<BundleContents> ReadContents(const BundleFiles& files, const std::filesystem::path& folder,
                                           Verification& found);

// Every file is one that a bundle has, in the form in which assay writes it, so that it has no other fields.
void CheckForms(const BundleContents& bundle, Verification& found);
// Each implementation that was offered of a planned case has its record, and there is no other.
void CheckPresence(const BundleContents& bundle, Verification& found);
// Records say of their cases what is true; their fields fit each other and are of the closed lists.
void CheckRecords(const BundleContents& bundle, Verification& found);
// Facts that stand in several places are the same.
void CheckAgreement(const BundleContents& bundle, Verification& found);
// Known failures, by the lists that the bundle has.
void CheckWaivers(const BundleContents& bundle, Verification& found);
// The sample follows from secret, challenges and files, and its outputs are there, with those of failures.
void CheckSample(const BundleContents& bundle, Verification& found);

// Whether nothing was found wrong with the values, though they may be of a weaker contract than required.
bool HoldsAsDeclared(const Record& r);

// How much was computed again.
struct Recomputed {
  size_t judged = 0;                // results whose outputs were judged again
  size_t results = 0;               // that have outputs
  size_t cases = 0, all_cases = 0;  // whose inputs were made again and are those of a record
  size_t golden_cases = 0;          // cases whose golden values have the recorded bits as well
  size_t other_goldens = 0;         // results with golden values of tier fast that differ in their last bits
  size_t verdict_alone = 0;         // judged results among them: nothing but the verdict was compared
  size_t differing = 0;             // judged results whose executions differ, so that their metrics are of another
  bool has_random = false;          // some case has a margin that random data beside its own may decide

  std::string ShareText() const;  // "50 of 3,732 results (1.3 %)"
};
Recomputed RecomputeCases(const BundleContents& bundle, double seconds,
                          const std::function<void(const std::string&, size_t, size_t)>& on_case, Verification& found);

// The fields that nothing confirms.
void ListClaimed(const BundleContents& bundle, const Recomputed& recomputed, Verification& found);

// Fields of a record that CheckRecords or RecomputeCases hold against the case, and that the outputs of one execution
// give. Every other is claimed.
bool IsFieldOfCase(const std::string& field);
bool IsFieldOfOutputs(const std::string& field);

}  // namespace assay
