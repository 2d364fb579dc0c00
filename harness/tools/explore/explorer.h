// SPDX-License-Identifier: Apache-2.0
// The cases of `assay explore`, and what becomes of those that fail: each is made as small as it can be and still fails
// in the same way, and is written into a suite file. The smaller ones run like the others, so that they have records.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/engine/run_loop.h"
#include "harness/engine/schedule.h"
#include "harness/plan/cover/exploration.h"
#include "harness/plan/plan.h"

namespace assay {

inline constexpr const char* kFailuresSuite = "failures.suite";

struct ExploreSettings {
  std::vector<const Operator*> ops;  // that declare dimensions, and have cases of `dtypes`
  uint64_t seed = 0;
  std::vector<std::string> dtypes;  // as SelectsDTypes takes them; empty: all
  CoverLimits limits;
  size_t cases = 0;                    // 0: as many as there is time for
  std::function<bool()> is_time_over;  // asked before each few cases
  std::string requirement;             // of all cases; "": the default of each
  bool strict = false;                 // suspect and inconclusive results are failures too
  bool times = false;                  // thresholds of times are sought, too
};

// The device of a result; nullptr: it cannot be asked any more.
const Device* FindDeviceOf(const std::vector<Device>& devices, const Record& record);

class Explorer : public CaseSource {
 public:
  // `devices`, those of the run, `loop` and `folder` outlive this. Errors of writing the suite are told to
  // loop.observer.
  Explorer(const ExploreSettings& settings, const std::vector<Device>& devices, const RunPolicy& loop,
           const RunFolder& folder);

  std::vector<PlannedCase> Next() override;
  void Judged(std::span<const std::string> ids, std::span<const Record> records, const PoolHealth& health) override;
  size_t total() const override { return settings_.cases; }
  std::string StatusText() const override;

  // Cases that ran, without those made smaller: given, and judged or with one of `records` that were kept at the end.
  size_t CountRan(const RecordView& records) const;
  struct OfOperator {
    std::string op;
    std::vector<Explored> sets;
  };
  std::vector<OfOperator> Coverage() const;
  // Cases that some backend took.
  size_t taken() const { return taken_; }
  // Cases that failed, and those that the suite file has of them.
  size_t failures() const { return failed_; }
  size_t saved() const { return saved_.size(); }

 private:
  struct PerOperator {
    const Operator* op;
    Exploration exploration;
  };
  struct Saved {
    CaseSpec spec;
    std::string comment;
  };
  PlannedCase Plan(CaseSpec spec) const { return PlanUntimed(std::move(spec), settings_.requirement); }
  void JudgedCase(const PlannedCase& planned, std::span<const Record> records, const PoolHealth& health);
  void Failed(const PlannedCase& planned, const Record& record, const PoolHealth& health);
  const Device* FindSoundDevice(const PlannedCase& planned, const Device& first, const Record& record,
                                const PoolHealth& health) const;
  void WriteSuite();

  const ExploreSettings settings_;
  const std::vector<Device>& devices_;
  const RunPolicy& loop_;
  const RunFolder& folder_;
  std::vector<PerOperator> operators_;
  size_t turn_ = 0, explored_ = 0, taken_ = 0, failed_ = 0;
  std::map<std::string, PlannedCase> open_;  // not yet judged, by id
  std::deque<CaseSpec> smaller_;             // that still have to run
  std::map<std::string, int> shrunk_;        // how often, by kind of failure
  std::map<std::string, int> asked_;         // how often others of its pool were, by kind of failure and device
  std::map<std::string, Saved> saved_;       // by id
};

}  // namespace assay
