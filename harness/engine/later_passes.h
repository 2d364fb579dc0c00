// SPDX-License-Identifier: Apache-2.0
// Runs the steps after the first pass over the cases: further rounds of timing, in fresh workers, so that rounds see
// different memory layouts and moments; then further passes, which judge all results again and keep how each try ended.
// Data that the harness draws by chance are others each time. A result whose tries differ is flaky, whatever the last
// one was.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "harness/engine/device/device_queues.h"
#include "harness/engine/device/health.h"
#include "harness/engine/interleaving.h"

namespace assay {

class LaterPasses {
 public:
  // All outlive this.
  LaterPasses(Schedule& schedule, const std::vector<Device>& devices, const RunPolicy& policy, ResultStore& results,
              DeviceQueues& queues, PoolHealth& health, const Interleaving& interleaving)
      : schedule_(schedule),
        devices_(devices),
        policy_(policy),
        results_(results),
        queues_(queues),
        health_(health),
        interleaving_(interleaving) {}

  // Takes note of a result that this step has timed; one that did not pass has no further rounds.
  void NoteTimed(const Step& step, const RecordPlace& place, const Attempt& attempt);

  // Runs a step of a further round or pass.
  void Run(const Step& step, const Result<PreparedCase>& data);

  // "20 passes: 240 tries of 12 results, 1 of them flaky"; "" without a second pass.
  std::string SummaryText() const;

  // How a device was lost, the first of them; "": none was.
  const std::string& lost() const { return lost_; }

 private:
  void TimeCase(const Step& step, TrialRunner& runner, const PreparedCase& data);
  void JudgeCase(const Step& step, const std::string& left_out, TrialRunner& runner, const PreparedCase& data);
  void JudgeOne(const Step& step, TrialRunner& runner, const PreparedCase& data, const RecordPlace& place);
  void Keep(Attempt& attempt, const PreparedCase& data, const TrialRunner& runner, const RecordPlace& place);
  void NoteLost(const Step& step, size_t device, const std::string& when, const std::string& why);

  Schedule& schedule_;
  const std::vector<Device>& devices_;
  const RunPolicy& policy_;
  ResultStore& results_;
  DeviceQueues& queues_;
  PoolHealth& health_;
  const Interleaving& interleaving_;
  std::map<RecordPlace, Attempt> timed_;  // without outputs, until their next round
  int64_t pass_ = 1;                      // the last that began
  std::mutex mutex_;                      // guards what follows
  std::set<size_t> lost_devices_;
  std::string lost_;
};

}  // namespace assay
