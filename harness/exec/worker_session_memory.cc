// SPDX-License-Identifier: Apache-2.0
// Shared memory of plans, before and after them.
#include <algorithm>
#include <iterator>

#include "harness/exec/worker_session_plan.h"

namespace assay {

bool WorkerSession::Plan::IsOverwritten(size_t input) const {
  return std::find(home.begin() + static_cast<std::ptrdiff_t>(inputs), home.end(), input) != home.end();
}

WorkerSession::Plan::Memory& WorkerSession::Plan::MemoryOf(size_t set) {
  return *std::ranges::find_if(memory, [&](const Memory& m) { return set < m.first + m.sets; });
}

std::span<std::byte> WorkerSession::Plan::SentImage(size_t set, size_t operand) {
  Memory& of = MemoryOf(set);
  return of.upload.bytes().subspan((set - of.first) * image_bytes + image_at[operand], layouts[operand].total_bytes);
}

std::span<std::byte> WorkerSession::Plan::ReturnedImage(size_t set, size_t operand) {
  return MemoryOf(set).download.bytes().subspan(ReturnedAt(set) + image_at[operand], layouts[operand].total_bytes);
}

uint64_t WorkerSession::Plan::ReturnedAt(size_t set) {
  const Memory& of = MemoryOf(set);
  return (set - of.first) % of.room * image_bytes;
}

std::optional<WorkerSession::Plan::Memory> WorkerSession::SpareMemory::Take(uint64_t upload_bytes,
                                                                            uint64_t download_bytes) {
  // Among equal ones it picks the one kept last.
  auto best = spare_.end();
  for (auto spare = spare_.begin(); spare != spare_.end(); ++spare) {
    const size_t size = spare->upload.bytes().size();
    if (size < upload_bytes || spare->download.bytes().size() < download_bytes) continue;
    if (best == spare_.end() || size <= best->upload.bytes().size()) best = spare;
  }
  if (best == spare_.end()) return std::nullopt;
  Plan::Memory memory = std::move(*best);
  spare_.erase(best);
  return memory;
}

void WorkerSession::SpareMemory::Keep(std::vector<Plan::Memory> memory) {
  std::ranges::move(memory, std::back_inserter(spare_));
  uint64_t bytes = 0;
  size_t kept = 0;
  while (kept < spare_.size()) {
    bytes += spare_[spare_.size() - 1 - kept].upload.bytes().size();
    if (bytes > kMostSpareBytes) break;
    ++kept;
  }
  spare_.erase(spare_.begin(), spare_.end() - static_cast<std::ptrdiff_t>(kept));
}

Result<WorkerSession::Plan::Memory> WorkerSession::SpareMemory::TakeOrCreate(uint64_t upload_bytes,
                                                                             uint64_t download_bytes) {
  if (auto spare = Take(upload_bytes, download_bytes)) return std::move(*spare);
  Result<SharedMemory> upload = SharedMemory::Create(upload_bytes, Access::kReadOnly);
  if (!upload) return tl::unexpected(upload.error());
  Result<SharedMemory> download = SharedMemory::Create(download_bytes, Access::kReadWrite);
  if (!download) return tl::unexpected(download.error());
  return Plan::Memory{std::move(*upload), std::move(*download)};
}

}  // namespace assay
