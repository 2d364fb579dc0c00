// SPDX-License-Identifier: Apache-2.0
// What a user sees of a run while it lasts.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "harness/cli/terminal/progress.h"
#include "harness/run/observer.h"

namespace assay::cli {

class RunWatch : public RunObserver {
 public:
  explicit RunWatch(Progress::Mode mode) : mode_(mode) {}

  void Progressed(size_t done, size_t total, size_t failed, const std::string& current) override;
  void Failed(const Record& record) override;
  void Noted(const std::string& text) override;

  void End();  // takes the bar away

 private:
  Progress::Mode mode_;
  std::mutex mutex_;
  std::optional<Progress> progress_;  // since the total is known
};

}  // namespace assay::cli
