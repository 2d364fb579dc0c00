// SPDX-License-Identifier: Apache-2.0
// Workspaces of chunks that are done, for those to come: no more of them are made than threads work at a time.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace assay {

template <class Work>
class WorkPool {
 public:
  // One that was given back, else a new one of these arguments.
  template <class... Args>
  std::unique_ptr<Work> Take(Args&&... args) {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Work>(std::forward<Args>(args)...);
    std::unique_ptr<Work> work = std::move(idle_.back());
    idle_.pop_back();
    return work;
  }

  void Give(std::unique_ptr<Work> work) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(work));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Work>> idle_;
};

}  // namespace assay
