// SPDX-License-Identifier: Apache-2.0
// The cases of `assay explore --thresholds`: a ladder over each extent of each operator, whose steps run as any case
// does. Kernels, contracts, verdicts and bits of two neighbouring steps say whether something changes between them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/plan/cover/candidates.h"
#include "harness/tools/explore/explorer.h"
#include "harness/tools/explore/threshold_ladder.h"
#include "ops/bound_case.h"

namespace assay {

// Bits of a few slices of a case that stay as they are while others come beside them: rows of a product, images,
// heads. Where they change with the number of slices, so does the way in which they are computed.
class SliceBits {
 public:
  static constexpr int64_t kSlices = 8;

  // `bound` has kSlices slices along the axis of an extent, and along no other. nullopt: it has none that stand alone.
  static std::optional<SliceBits> Make(const SharedCase& bound);

  // Hash of the results of the first slices among those of `bound`; "" where it cannot be had.
  std::string HashOn(const Device& device, const std::string& implementation, const BoundCase& bound) const;

 private:
  std::vector<Tensor> inputs_;
  size_t axis_ = 0;  // in ListSliceableAxes
};

// One extent of an operator with operands of these types, all others being as in `base`.
struct ExtentLadder {
  std::string op, dtypes, extent;
  std::string base;  // id of the case in which the extent is one of many
  std::function<Result<CaseSpec>(int64_t)> case_of;
  ThresholdLadder ladder;
  std::optional<SliceBits> bits = {};
};

class ThresholdSearch : public CaseSource {
 public:
  // `devices`: of the run; they outlive this.
  ThresholdSearch(const ExploreSettings& settings, const std::vector<Device>& devices);

  std::vector<PlannedCase> Next() override;
  void Judged(std::span<const std::string> ids, std::span<const Record> records, const PoolHealth& health) override;
  size_t total() const override { return settings_.cases; }
  std::string StatusText() const override;

  // Ladders that were begun, in the order of the operators.
  std::vector<const ExtentLadder*> Ladders() const;
  size_t planned_ladders() const;
  size_t given() const { return given_; }  // cases

 private:
  // One ladder of an operator is climbed after another.
  struct OfOperator {
    std::unique_ptr<Candidates> candidates;
    std::vector<std::unique_ptr<ExtentLadder>> ladders;
    size_t at = 0;
  };
  struct Open {
    ExtentLadder* ladder;
    int64_t extent;
  };
  OfOperator MakeLadders(const Operator& op) const;
  std::optional<PlannedCase> NextOf(OfOperator& of);
  void SetPlans(const std::string& id, std::span<const Record> records);
  // Measures again on both sides of each threshold of time.
  void ConfirmTimes(ExtentLadder& ladder) const;

  const ExploreSettings settings_;
  const std::vector<Device>& devices_;
  std::vector<OfOperator> operators_;
  std::map<std::string, std::vector<Open>> open_;              // not yet judged, by id
  std::map<std::string, std::vector<Record>> shared_records_;  // of cases that several ladders have
  size_t turn_ = 0, given_ = 0;
};

}  // namespace assay
