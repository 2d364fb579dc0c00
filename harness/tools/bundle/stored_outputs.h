// SPDX-License-Identifier: Apache-2.0
// outputs/ of a run folder: the outputs of the first execution of every result, so that somebody without the device can
// judge again those that are drawn when the run has ended, and whatever fails.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"
#include "harness/core/model/record_list.h"
#include "harness/plan/plan.h"
#include "harness/tools/bundle/draw.h"
#include "ops/operator.h"

namespace assay {

inline constexpr uint64_t kMostStoredBytes = uint64_t{64} << 20;  // of the outputs of one result
inline constexpr uint64_t kMostKeptBytes = uint64_t{2} << 30;     // of the outputs of a run

// "outputs/<hash>.safetensors", below the run's folder: by the case, the implementation, its device and the bits.
std::string StoredOutputFile(const Record& record);

// Case, backend, device and implementation, separated by tabs.
std::string ResultName(const Record& record);

// The limit of one result's outputs: kMostStoredBytes, halved until all that lie within it have `budget` bytes at most.
// It follows from the sizes alone, in whatever order results came.
uint64_t LimitThatFits(std::span<const uint64_t> sizes, uint64_t budget = kMostKeptBytes);

struct KeptResults {
  uint64_t most_bytes = kMostStoredBytes;  // results with larger outputs were not kept, and are not drawn
  std::vector<std::string> names;          // of results that could have been kept, as ResultName() has them
};
// Each shard kept outputs up to a limit of its own; the least of them holds for all.
KeptResults FindKept(const Plan& plan, const RecordView& records, const std::vector<EvidenceDraw>& draws);

// Precondition: as many outputs as the problem has.
Status WriteOutputs(const std::filesystem::path& path, const Record& record, const Problem& problem,
                    const std::vector<Tensor>& outputs);

class StoredOutputs {
 public:
  // Once results of more than `budget` bytes are kept, the limit of a single one is halved until they fit.
  explicit StoredOutputs(std::filesystem::path out, uint64_t budget = kMostKeptBytes);

  // May be called by several threads.
  void Keep(const Record& record, const Problem& problem, const std::vector<Tensor>& outputs);

  uint64_t most_bytes() const;  // LimitThatFits() all results until now
  std::string problem() const;  // the first that was not written, and why; "" for none

 private:
  void RemoveLargest();  // those above the limit

  const std::filesystem::path out_;
  const uint64_t budget_;
  mutable std::mutex mutex_;              // guards what follows
  std::map<std::string, uint64_t> kept_;  // bytes by file
  uint64_t sum_ = 0, most_bytes_ = kMostStoredBytes;
  std::string problem_;
};

}  // namespace assay
