// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_loop.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "harness/core/base/parallel.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/device/device.h"

namespace assay {
namespace {

// An exception in one case does not lose the figures of the others.
PowerTally MeasureGuarded(const PlannedCase& planned, const Device& device, const PowerSettings& settings) {
  try {
    return MeasureCase(planned, device, settings);
  } catch (const std::exception& fault) {
    PowerTally none;
    none.could_not_run.push_back(fmt::format("{}: {}", planned.spec.Id(), DescribeException(fault)));
    return none;
  }
}

class PowerLoop {
 public:
  PowerLoop(const std::vector<PlannedCase>& cases, const PowerWorkers& workers, const PowerSettings& settings,
            const PowerProgress& progress)
      : cases_(cases), workers_(workers), settings_(settings), progress_(progress), tallies_(cases.size()) {}

  MeasuredPower Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < workers_.count; ++i) threads.emplace_back([this] { WorkGuarded(); });
    for (std::thread& thread : threads) thread.join();
    MeasuredPower all{{}, done_};
    for (PowerTally& tally : tallies_) all.tally.Add(std::move(tally));
    if (!problem_.empty()) all.tally.could_not_run.push_back(problem_);
    return all;
  }

 private:
  void WorkGuarded() {
    try {
      Work();
    } catch (const std::exception& fault) {  // of the corpus' worker, or of what follows a case
      const std::lock_guard lock(mutex_);
      problem_ = fmt::format("{}: {}", workers_.corpus, DescribeException(fault));
    }
  }

  void Work() {
    PluginCandidate candidate;
    candidate.path = workers_.corpus;
    candidate.origin = "--corpus";
    const std::vector<Device> devices =
        OpenPlugin(candidate, {.timeout_s = workers_.timeout_s, .sandbox = workers_.sandbox});
    if (devices.empty() || !devices[0].problem.empty()) {
      const std::lock_guard lock(mutex_);
      problem_ = fmt::format("{}: {}", workers_.corpus, devices.empty() ? "it has no device" : devices[0].problem);
      return;
    }
    for (size_t i = next_++; i < cases_.size(); i = next_++) {
      PowerTally tally = MeasureGuarded(cases_[i], devices[0], settings_);
      if (settings_.interrupted()) return;
      const std::lock_guard lock(mutex_);
      alarms_ += tally.false_alarms.size();
      tallies_[i] = std::move(tally);
      progress_(++done_, alarms_, cases_[i].spec.Id());
    }
  }

  const std::vector<PlannedCase>& cases_;
  const PowerWorkers& workers_;
  const PowerSettings& settings_;
  const PowerProgress& progress_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;  // of all below
  size_t done_ = 0, alarms_ = 0;
  std::string problem_;
  std::vector<PowerTally> tallies_;
};

}  // namespace

MeasuredPower MeasureCases(const std::vector<PlannedCase>& cases, const PowerWorkers& workers,
                           const PowerSettings& settings, const PowerProgress& progress) {
  SetThreadCount(1);  // the threads are busy with cases of their own
  return PowerLoop(cases, workers, settings, progress).Run();
}

}  // namespace assay
