// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/prefetch.h"

#include <chrono>
#include <utility>

#include "harness/core/base/profile.h"
#include "harness/engine/cases/host_memory.h"

namespace assay {
namespace {

constexpr std::chrono::milliseconds kInterruptPoll{50};

Result<PreparedCase> PrepareOne(const PrefetchRequest& wanted, const std::string& tier, const GoldenStore& store) {
  const BoundCase& bound = *wanted.bound;
  const SpanContext context(bound.problem.spec.Id(), "", "");
  try {
    Result<PreparedCase> data = PrepareCase(bound, tier, store, MemoryUse::kRun, wanted.limits);
    if (data && IsLarge(bound.problem)) ReturnFreedMemory();
    return data;
  } catch (const std::exception& e) {
    return Fail(ErrorCode::kInternal, DescribeException(e));
  }
}

}  // namespace

Prefetch::Prefetch(std::string tier, const GoldenStore& store, bool executed)
    : tier_(std::move(tier)), store_(store), executed_(executed) {}

Prefetch::~Prefetch() {
  if (thread_.joinable()) thread_.detach();
}

void Prefetch::Begin(std::vector<PrefetchRequest> group) {
  std::packaged_task<PreparedCases()> task(
      [group = std::move(group), tier = tier_, store = store_, executed = executed_] {
        const ProfiledThread thread("next cases");
        PreparedCases prepared;
        for (const PrefetchRequest& wanted : group) {
          prepared.push_back(executed ? PrepareOne(wanted, tier, store) : WithoutData(*wanted.bound, tier));
        }
        return prepared;
      });
  next_ = task.get_future();
  thread_ = std::thread(std::move(task));
}

bool Prefetch::Await(const std::function<bool()>& interrupted) const {
  const Span span(Phase::kWait);
  while (!interrupted()) {
    if (!next_.valid() || next_.wait_for(kInterruptPoll) == std::future_status::ready) return true;
  }
  return false;
}

PreparedCases Prefetch::Take() {
  thread_.join();
  return next_.get();
}

}  // namespace assay
