// SPDX-License-Identifier: Apache-2.0
// Shows a run while it lasts: progress, and failures as soon as they are known.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "harness/cli/terminal/progress.h"
#include "harness/engine/observer.h"

namespace assay::cli {

class RunWatch : public RunObserver {
 public:
  RunWatch(Progress::Mode mode, bool colour) : mode_(mode), colour_(colour) {}

  void Expected(double behind_s, double ahead_s) override;
  void Progressed(size_t done, size_t total, size_t failed, const std::string& current) override;
  // One cause often fails many cases: a few results of each implementation and outcome are shown, the others counted.
  void Failed(const Record& record) override;
  void Noted(const std::string& text) override;

  void End();  // takes the bar away

 private:
  void Say(const std::string& line);

  Progress::Mode mode_;
  bool colour_;
  std::mutex mutex_;
  double behind_s_ = 0, ahead_s_ = 0;    // as expected
  std::optional<Progress> progress_;     // since the total is known
  std::map<std::string, size_t> shown_;  // failures of an outcome and implementation
};

}  // namespace assay::cli
