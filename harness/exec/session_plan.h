// SPDX-License-Identifier: Apache-2.0
// Private to session*.cc: what the host keeps of a prepared plan.
#pragma once

#include <string>
#include <vector>

#include "harness/exec/session.h"
#include "harness/exec/shared_memory.h"

namespace assay {

// Inputs first, the output last; each with a salt of its own.
std::vector<BufferLayout> LayoutsOf(const Problem& problem, const LayoutVariant& variant);

struct Session::Plan {
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
  std::span<std::byte> Image(SharedMemory& memory, size_t operand) const {
    return memory.bytes().subspan(image_at[operand], layouts[operand].total_bytes);
  }
};

}  // namespace assay
