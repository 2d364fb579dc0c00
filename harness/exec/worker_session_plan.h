// SPDX-License-Identifier: Apache-2.0
// Private to worker_session*.cc: what the host keeps of a prepared plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/exec/shared_memory.h"
#include "harness/exec/worker_session.h"

namespace assay {

// Inputs first, then outputs. Each has a salt of its own, but an output in place shares the layout of its input.
std::vector<BufferLayout> LayoutsOf(const Problem& problem, const LayoutVariant& variant);

// Limit for spare upload memory; downloads have as much.
inline constexpr uint64_t kMostSpareBytes = uint64_t{16} << 20;
// Limit for images that come back in one call: they fit into the processor's cache together with those uploaded.
inline constexpr uint64_t kMostRoomBytes = uint64_t{1} << 19;

struct WorkerSession::Plan {
  // Memory of sets that were bound together: room for the images of all uploads, and for the downloads of all sets if
  // they are small, else of one.
  struct Memory {
    SharedMemory upload, download;
    size_t first = 0, sets = 0, room = 1;
  };
  uint64_t worker_plan = 0;        // its number in the worker
  std::string what;                // operator and implementation
  size_t inputs = 0;               // how many of the operands are
  std::vector<std::string> names;  // of the operands: the inputs, then the outputs
  std::vector<size_t> home;        // whose memory each has: its own, or that of the input in whose place it is
  std::vector<BufferLayout> layouts;
  std::vector<uint64_t> image_at;  // where each operand's image begins in the shared memory
  uint64_t image_bytes = 0;        // of all operands of a set
  double work = 0;                 // operations and bytes of an execution
  std::vector<Memory> memory;
  std::vector<double> upload_s, download_s;  // the fastest of each operand; infinite where there was none

  bool IsInput(size_t operand) const { return operand < inputs; }
  bool IsInPlace(size_t operand) const { return home[operand] != operand; }  // an output
  bool IsOverwritten(size_t input) const;
  TransferTimes Transfers() const;
  bool KeptAfterRelease() const { return image_bytes <= kMostSpareBytes; }
  size_t sets() const { return memory.empty() ? 0 : memory.back().first + memory.back().sets; }
  // Precondition: a set that was bound.
  Memory& MemoryOf(size_t set);
  uint64_t ReturnedAt(size_t set);  // where in the memory for what comes back its images begin
  std::span<std::byte> SentImage(size_t set, size_t operand);
  std::span<std::byte> ReturnedImage(size_t set, size_t operand);  // of the last one that came back
};

// The shared memory of plans that were released, for the next ones that are no larger, as the implementations of a case
// are: the kernel then clears no page anew. Each transfer writes all of what it hands over.
class WorkerSession::SpareMemory {
 public:
  Result<Plan::Memory> TakeOrCreate(uint64_t upload_bytes, uint64_t download_bytes);
  // Beyond the limit the oldest are dropped.
  void Keep(std::vector<Plan::Memory> memory);

 private:
  // The one with the smallest upload of those that are large enough.
  std::optional<Plan::Memory> Take(uint64_t upload_bytes, uint64_t download_bytes);
  std::vector<Plan::Memory> spare_;
};

}  // namespace assay
