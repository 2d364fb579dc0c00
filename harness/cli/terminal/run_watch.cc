// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/run_watch.h"

#include "harness/cli/terminal/output.h"

namespace assay::cli {

void RunWatch::Progressed(size_t done, size_t total, size_t failed, const std::string& current) {
  const std::lock_guard lock(mutex_);
  if (!progress_) progress_.emplace(mode_, total);
  progress_->Update(done, failed, current);
}

void RunWatch::Failed(const Record&) {}

void RunWatch::Noted(const std::string& text) {
  const std::lock_guard lock(mutex_);
  Note(text);
}

void RunWatch::End() {
  const std::lock_guard lock(mutex_);
  progress_.reset();
}

}  // namespace assay::cli
