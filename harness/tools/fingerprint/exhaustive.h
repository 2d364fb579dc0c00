// SPDX-License-Identifier: Apache-2.0
// Measures functions of single elements on all numbers of a type, in parts that are kept and found again.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/engine/device/prepared_plan.h"
#include "harness/plan/selection.h"
#include "harness/tools/fingerprint/function_passport.h"

namespace assay {

// The case of one chunk of all numbers: `bound` with another n. Errors: no function, or a type of more than 32 bits.
Result<SharedCase> BindExhaustive(const BoundCase& bound);

// One implementation on a device, with what is already known of it.
struct ExhaustiveSubject {
  const Device* device = nullptr;
  std::string implementation, contract;
  PreparedPlan plan;
  std::map<int, FunctionErrors> parts;  // measured, by number
  std::string failure;                  // that ended its measurement
};

class Exhaustive {
 public:
  // `chunk` is of BindExhaustive and outlives this, as `subjects` do. `folder`: where parts are kept; empty: nowhere.
  Exhaustive(const BoundCase& chunk, Shard shard, std::filesystem::path folder);

  int parts() const { return parts_; }
  std::vector<int> OwnParts() const;  // those of the shard
  // Reads the parts that any shard has kept. Errors: a file that is none, or of another library or contract.
  Status Load(ExhaustiveSubject& subject) const;
  // Measures one part of each subject that lacks it and has not failed, and keeps it. Errors: a file cannot be written.
  Status MeasurePart(int part, std::vector<ExhaustiveSubject>& subjects) const;
  FunctionPassport PassportOf(const ExhaustiveSubject& subject) const;

 private:
  std::string StemOf(const ExhaustiveSubject& subject) const;
  Json HeadOf(const ExhaustiveSubject& subject) const;
  Status Keep(const ExhaustiveSubject& subject) const;

  const BoundCase& chunk_;
  Shard shard_;
  std::filesystem::path folder_;
  int64_t chunk_pairs_, chunks_in_part_, lead_;
  int parts_;
};

}  // namespace assay
