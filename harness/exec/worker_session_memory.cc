// SPDX-License-Identifier: Apache-2.0
// Shared memory of plans, before and after them.
#include <algorithm>
#include <iterator>

#include "harness/exec/worker_session_plan.h"

namespace assay {

std::optional<WorkerSession::Plan::Set> WorkerSession::SpareMemory::Take(uint64_t bytes) {
  // The smallest that is large enough; of equal ones that which was kept last.
  auto best = sets_.end();
  for (auto set = sets_.begin(); set != sets_.end(); ++set) {
    const size_t size = set->upload.bytes().size();
    if (size >= bytes && (best == sets_.end() || size <= best->upload.bytes().size())) best = set;
  }
  if (best == sets_.end()) return std::nullopt;
  Plan::Set set = std::move(*best);
  sets_.erase(best);
  return set;
}

void WorkerSession::SpareMemory::Keep(std::vector<Plan::Set> sets) {
  std::ranges::move(sets, std::back_inserter(sets_));
  uint64_t bytes = 0;
  size_t kept = 0;
  while (kept < sets_.size()) {
    bytes += sets_[sets_.size() - 1 - kept].upload.bytes().size();
    if (bytes > kMostSpareBytes) break;
    ++kept;
  }
  sets_.erase(sets_.begin(), sets_.end() - static_cast<std::ptrdiff_t>(kept));
}

Result<WorkerSession::Plan::Set> WorkerSession::SpareMemory::TakeOrCreate(uint64_t bytes) {
  if (auto spare = Take(bytes)) return std::move(*spare);
  Result<SharedMemory> upload = SharedMemory::Create(bytes, Access::kReadOnly);
  if (!upload) return tl::unexpected(upload.error());
  Result<SharedMemory> download = SharedMemory::Create(bytes, Access::kReadWrite);
  if (!download) return tl::unexpected(download.error());
  return Plan::Set{std::move(*upload), std::move(*download)};
}

}  // namespace assay
