// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/stored_outputs.h"

#include <fmt/format.h>

#include "harness/data/safetensors.h"
#include "harness/judge/verdict.h"
#include "harness/run/trial/attempt.h"

namespace assay {

std::string StoredOutputFile(const Record& r) {
  const std::string key =
      fmt::format("{}\t{}\t{}\t{}\t{}", r.case_id, r.backend, r.device, r.implementation, r.output_hash);
  return fmt::format("outputs/{}.safetensors", HashHex(HashBytes(key.data(), key.size())));
}

StoredOutputs::StoredOutputs(std::filesystem::path out, const std::vector<std::string>& drawn)
    : out_(std::move(out)), drawn_(drawn.begin(), drawn.end()) {}

void StoredOutputs::Keep(const Record& record, const Problem& problem, const std::vector<Tensor>& outputs) {
  const auto verdict = ParseVerdict(record.verdict);
  const bool fails = verdict && IsFailingResult(*verdict);
  if (!fails && !drawn_.contains(record.case_id)) return;
  uint64_t bytes = 0;
  std::vector<TensorRef> tensors;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Operand& operand = problem.outputs[k];
    bytes += outputs[k].bytes();
    tensors.push_back({operand.name, operand.dtype, operand.shape, outputs[k].data()});
  }
  if (bytes > kMostStoredBytes) return;
  const Status written = WriteSafetensors(out_ / StoredOutputFile(record), tensors,
                                          {{"case_id", record.case_id}, {"implementation", record.implementation}});
  const std::lock_guard lock(mutex_);
  if (!written && problem_.empty()) problem_ = written.error().message;
}

std::string StoredOutputs::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace assay
