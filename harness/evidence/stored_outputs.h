// SPDX-License-Identifier: Apache-2.0
// outputs/ of a run folder: the outputs of the first execution of drawn cases and of whatever fails, so that somebody
// without the device can judge them again.
#pragma once

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/data/tensor.h"
#include "harness/model/record.h"
#include "ops/operator.h"

namespace assay {

inline constexpr uint64_t kMostStoredBytes = uint64_t{64} << 20;  // of the outputs of one result

// "outputs/<hash>.safetensors", below the run's folder: of the case, the implementation, its device and the bits.
std::string StoredOutputFile(const Record& record);

class StoredOutputs {
 public:
  StoredOutputs(std::filesystem::path out, const std::vector<std::string>& drawn);

  // Keeps what is drawn or fails. May be called by several threads.
  void Keep(const Record& record, const Problem& problem, const std::vector<Tensor>& outputs);

  std::string problem() const;  // the first that was not written, and why; "" for none

 private:
  const std::filesystem::path out_;
  const std::set<std::string> drawn_;
  mutable std::mutex mutex_;
  std::string problem_;
};

}  // namespace assay
