// SPDX-License-Identifier: Apache-2.0
// The part of a run after its first pass over the cases: further rounds of timing, in fresh workers, so that rounds see
// different memory layouts and moments; then further passes, which judge all results again and keep how each try ended.
// Data that the harness draws by chance are others each time. A result whose tries differ is flaky, whatever the last
// one was.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/device/device_queues.h"
#include "harness/engine/device/health.h"
#include "harness/engine/interleaving.h"
#include "harness/engine/result_store.h"
#include "harness/plan/suite.h"

namespace assay {

class LaterPasses {
 public:
  // All outlive this. The run's time begins with this object. `random` is of orders alone.
  LaterPasses(const std::vector<PlannedCase>& cases, const std::vector<Device>& devices, const RunPolicy& policy,
              ResultStore& results, DeviceQueues& queues, PoolHealth& health, std::mt19937_64& random)
      : cases_(cases),
        devices_(devices),
        policy_(policy),
        results_(results),
        queues_(queues),
        health_(health),
        random_(random),
        interleaving_(devices, policy) {}

  // Takes note of a result that was timed once; one that did not pass has no further rounds.
  void NoteTimed(const RecordPlace& place, const Attempt& attempt);

  // `progress` is told how many cases of the round or pass are done, and which is next: "round 2 matmul/...".
  using Progress = std::function<void(int64_t number, size_t done, const std::string& current)>;
  void TimeAgain(const Progress& progress);
  // Until there were as many passes as asked for, the time is over, or `ends` says so.
  void JudgeAgain(const std::function<bool()>& ends, const Progress& progress);

  // "20 passes: 240 tries of 12 results, 1 of them flaky"; "" without a second pass.
  std::string SummaryText() const;

  // How a device was lost, the first of them; "": none was.
  const std::string& lost() const { return lost_; }

 private:
  // Results of one case that are judged again, in plan order.
  using Places = std::vector<RecordPlace>;

  void Repeat(std::vector<size_t> cases, const std::function<bool()>& is_over,
              const std::function<void(size_t done, const PlannedCase& planned, size_t index)>& take);
  template <class Work>
  void WithCase(const PlannedCase& planned, const std::string& left_out, const Work& work);
  void TimeCase(const PlannedCase& planned, std::vector<PlacedAttempt>& results);
  std::map<size_t, Places> FindRepeated() const;
  void JudgeCase(const PlannedCase& planned, const Places& places);
  void JudgeOne(TrialRunner& runner, const PreparedCase& data, const RecordPlace& place);
  void Keep(Attempt& attempt, const PreparedCase& data, const TrialRunner& runner, const RecordPlace& place);
  void NoteLost(const PlannedCase& planned, size_t device, const std::string& when, const std::string& why);

  const std::vector<PlannedCase>& cases_;
  const std::vector<Device>& devices_;
  const RunPolicy& policy_;
  ResultStore& results_;
  DeviceQueues& queues_;
  PoolHealth& health_;
  std::mt19937_64& random_;
  Interleaving interleaving_;
  std::map<size_t, std::vector<PlacedAttempt>> timed_;  // of each case, without outputs
  const Stopwatch since_start_;
  int64_t passes_ = 1;  // begun
  std::mutex mutex_;    // guards what follows
  std::set<size_t> lost_devices_;
  std::string lost_;
};

}  // namespace assay
