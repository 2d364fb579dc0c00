// SPDX-License-Identifier: Apache-2.0
// Shared memory of plans, before and after them.
#include <algorithm>
#include <iterator>

#include "harness/exec/session_plan.h"

namespace assay {

std::optional<Session::Plan::Set> Session::SpareMemory::Take(uint64_t bytes) {
  const auto fits = [&](const Plan::Set& set) { return set.upload.bytes().size() == bytes; };
  const auto found = std::find_if(sets_.rbegin(), sets_.rend(), fits);
  if (found == sets_.rend()) return std::nullopt;
  Plan::Set set = std::move(*found);
  sets_.erase(std::next(found).base());
  return set;
}

void Session::SpareMemory::Keep(std::vector<Plan::Set> sets) {
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

Result<Session::Plan::Set> Session::SpareMemory::TakeOrCreate(uint64_t bytes) {
  if (auto spare = Take(bytes)) return std::move(*spare);
  Result<SharedMemory> upload = SharedMemory::Create(bytes, Access::kReadOnly);
  if (!upload) return tl::unexpected(upload.error());
  Result<SharedMemory> download = SharedMemory::Create(bytes, Access::kReadWrite);
  if (!download) return tl::unexpected(download.error());
  return Plan::Set{std::move(*upload), std::move(*download)};
}

}  // namespace assay
