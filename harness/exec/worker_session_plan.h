// SPDX-License-Identifier: Apache-2.0
// Private to worker_session*.cc: what the host keeps of a prepared plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/exec/shared_memory.h"
#include "harness/exec/worker_session.h"

namespace assay {

// Inputs first, the output last; each with a salt of its own.
std::vector<BufferLayout> LayoutsOf(const Problem& problem, const LayoutVariant& variant);

// Of spare uploads; downloads have as many.
inline constexpr uint64_t kMostSpareBytes = uint64_t{16} << 20;

struct WorkerSession::Plan {
  struct Set {
    SharedMemory upload, download;
  };
  uint64_t worker_plan = 0;  // its number in the worker
  std::vector<std::string> names;
  std::vector<BufferLayout> layouts;
  std::vector<uint64_t> image_at;  // where each operand's image begins in the shared memory
  uint64_t image_bytes = 0;        // of all
  std::vector<Set> sets;
  std::vector<double> upload_s, download_s;  // the fastest of each operand; infinite where there was none

  TransferTimes Transfers() const;
  bool KeptAfterRelease() const { return image_bytes <= kMostSpareBytes; }
  std::span<std::byte> Image(SharedMemory& memory, size_t operand) const {
    return memory.bytes().subspan(image_at[operand], layouts[operand].total_bytes);
  }
};

// The shared memory of plans that were released, for the next ones that are no larger, as the implementations of a case
// are: the kernel then clears no page anew. Each transfer writes all of what it hands over.
class WorkerSession::SpareMemory {
 public:
  Result<Plan::Set> TakeOrCreate(uint64_t bytes);
  // Beyond the limit the oldest are dropped.
  void Keep(std::vector<Plan::Set> sets);

 private:
  std::optional<Plan::Set> Take(uint64_t bytes);  // the smallest that is large enough
  std::vector<Plan::Set> sets_;
};

}  // namespace assay
