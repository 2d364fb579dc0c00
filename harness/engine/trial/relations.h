// SPDX-License-Identifier: Apache-2.0
// The metamorphic channel's executions (harness/judge/README.md#metamorphic-relations): after a case's own, with the
// same worker and plan.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/device.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/engine/trial/trial_context.h"
#include "harness/judge/verdict.h"

namespace assay {

enum class RelationEffort : uint8_t { kNone, kQuick, kAll };
std::optional<RelationEffort> ParseRelationEffort(const std::string& name);  // "none", "quick", "all"

// Quick: what fits into this much beside the case's own executions. All: every relation, and repetitions under load.
// Numbers of the case and no times, so that every machine, however busy, judges a case by the same relations.
inline constexpr int kMostRelationExecutions = 10;
inline constexpr double kMostRelationFlops = 2e7;  // of all of them; a golden value counts as kGoldenExecutions
inline constexpr double kGoldenExecutions = 4;
inline constexpr double kMostRelationBytes = 8 << 20;  // of inputs and outputs

struct RelationRequest {
  const Device& device;
  TrialContext& context;
  const ContractData& by;
  const Attempt& attempt;    // with the outputs of its first execution, as they came back
  const PreparedPlan& plan;  // of the case
  RelationEffort effort = RelationEffort::kQuick;

  const PreparedCase& data() const { return context.data(); }
};

// Adds to what is observed of each output: its properties, its side effects, and, when a repetition gives other bits,
// its runs. Errors: the worker did not survive; they name the relation.
Call<void> RunRelations(const RelationRequest& request, Findings& findings);

// "batch1=yes;columns=no", and what broke: "columns: element [0,1] is ...".
std::string PropertiesText(const std::vector<PropertyFinding>& properties);
std::string BreaksText(const std::vector<PropertyFinding>& properties);

// Follows how far implementations of one case lie apart in one of its outputs: the largest |a - b| / (T_a + T_b) of
// each two. None of them can break this alone without breaking its own bound, so it is a property.
class Agreement {
 public:
  // "agreement(NAME)=0.12": the distance to the one that lies farthest, among up to kMostCompared before. From the
  // third on, "odd_one_out(NAME)=0.12" as well where one has no neighbour nearer than that, which is more than kOdd
  // times what any other has. "" for the first, for exact results and for more than kMostAgreementValues.
  // Precondition: `bound` lives as long as this; implementations of one contract have the same object.
  std::string Add(const PreparedCase& data, const BoundModel& bound, const std::string& implementation,
                  const Tensor& output, size_t number = 0);

  static constexpr size_t kMostCompared = 8;
  static constexpr int64_t kMostAgreementValues = 1 << 18;  // 2 MiB for each one compared
  static constexpr double kOdd = 3;

 private:
  struct Member {
    std::string implementation;
    std::vector<double> values;
    const std::vector<double>* tolerances;
    double nearest;  // distance to the nearest other one
  };
  const std::vector<double>& Tolerances(const Golden& golden, const BoundModel& bound);
  std::string FindOddOneOut() const;

  std::map<const BoundModel*, std::vector<double>> tolerances_;
  std::vector<Member> members_;
};

}  // namespace assay
