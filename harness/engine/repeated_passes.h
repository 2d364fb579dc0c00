// SPDX-License-Identifier: Apache-2.0
// Judges all results again, pass after pass over the cases in random order, and keeps how each try ended. Data that the
// harness draws by chance are others each time. A result whose tries differ is flaky, whatever the last one was.
#pragma once

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
#include "harness/engine/device/pool_health.h"
#include "harness/engine/result_store.h"
#include "harness/plan/suite.h"

namespace assay {

struct LoopSettings;

class RepeatedPasses {
 public:
  // All outlive this. The run's time begins with this object.
  RepeatedPasses(const std::vector<PlannedCase>& cases, const std::vector<Device>& devices,
                 const LoopSettings& settings, ResultStore& results, DeviceQueues& queues, PoolHealth& health)
      : cases_(cases), devices_(devices), settings_(settings), results_(results), queues_(queues), health_(health) {}

  // Passes after the first, which has come to its end: until there were as many as asked for, the time is over, or
  // `ends` says so. `random` is of orders alone. `progress` is told the pass and the case.
  using Progress = std::function<void(int64_t pass, size_t done, const std::string& current)>;
  void RunAll(std::mt19937_64& random, const std::function<bool()>& ends, const Progress& progress);

  // "20 passes: 240 tries of 12 results, 1 of them flaky"; "" without a second pass.
  std::string SummaryText() const;

  // How a device was lost, the first of them; "": none was.
  const std::string& lost() const { return lost_; }

 private:
  // Results of one case that are judged again, in plan order.
  using Places = std::vector<RecordPlace>;

  std::map<size_t, Places> FindRepeated() const;
  bool IsTimeOver() const;
  void JudgeCase(const PlannedCase& planned, const Places& places, int64_t pass);
  std::optional<size_t> DeviceFor(const RecordPlace& place, const std::string& op);
  void JudgeOne(TrialRunner& runner, const PreparedCase& data, const RecordPlace& place, int64_t pass);
  void Keep(Attempt& attempt, const PreparedCase& data, const TrialRunner& runner, const RecordPlace& place);
  void NoteLost(const PlannedCase& planned, size_t device, const std::string& why);

  const std::vector<PlannedCase>& cases_;
  const std::vector<Device>& devices_;
  const LoopSettings& settings_;
  ResultStore& results_;
  DeviceQueues& queues_;
  PoolHealth& health_;
  const Stopwatch since_start_;
  int64_t passes_ = 1;  // begun
  std::mutex mutex_;    // guards what follows
  std::set<size_t> lost_devices_;
  std::string lost_;
};

}  // namespace assay
