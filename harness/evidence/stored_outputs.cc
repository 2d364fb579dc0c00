// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/stored_outputs.h"

#include <fmt/format.h>

#include <unordered_map>

#include "harness/check/suite_case.h"
#include "harness/data/safetensors.h"

namespace assay {
namespace {

uint64_t OutputBytes(const Problem& problem) {
  uint64_t bytes = 0;
  for (const Operand& operand : problem.outputs) bytes += BytesOf(operand);
  return bytes;
}

// A case that this program cannot make has none.
uint64_t OutputBytes(const Record& record) {
  const auto planned = PlanAgain(record.case_id, record.required_contract);
  return planned ? OutputBytes(planned->Bound()->problem) : 0;
}

}  // namespace

std::string StoredOutputFile(const Record& r) {
  const std::string key =
      fmt::format("{}\t{}\t{}\t{}\t{}", r.case_id, r.backend, r.device, r.implementation, r.output_hash);
  return fmt::format("outputs/{}.safetensors", HashHex(HashBytes(key.data(), key.size())));
}

std::string ResultName(const Record& r) {
  return fmt::format("{}\t{}\t{}\t{}", r.case_id, r.backend, r.device, r.implementation);
}

std::vector<std::string> NamesToDrawFrom(const RecordView& records, uint64_t most) {
  std::vector<std::string> names;
  std::unordered_map<std::string, uint64_t> bytes_of_case;
  for (const Record& r : records) {
    if (r.output_hash.empty()) continue;
    const auto [bytes, is_new] = bytes_of_case.try_emplace(r.case_id, 0);
    if (is_new) bytes->second = OutputBytes(r);
    if (bytes->second <= most) names.push_back(ResultName(r));
  }
  return names;
}

Status WriteOutputs(const std::filesystem::path& path, const Record& record, const Problem& problem,
                    const std::vector<Tensor>& outputs) {
  std::vector<TensorRef> tensors;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Operand& operand = problem.outputs[k];
    tensors.push_back({operand.name, operand.dtype, operand.shape, outputs[k].data()});
  }
  return WriteSafetensors(path, tensors, {{"case_id", record.case_id}, {"implementation", record.implementation}},
                          Durability::kWhenever);
}

StoredOutputs::StoredOutputs(std::filesystem::path out, uint64_t budget) : out_(std::move(out)), budget_(budget) {}

void StoredOutputs::Keep(const Record& record, const Problem& problem, const std::vector<Tensor>& outputs) {
  const uint64_t bytes = OutputBytes(problem);
  if (bytes > most_bytes()) return;
  const std::string name = StoredOutputFile(record);
  const Status written = WriteOutputs(out_ / name, record, problem, outputs);
  const std::lock_guard lock(mutex_);
  if (!written && problem_.empty()) problem_ = written.error().message;
  if (kept_.emplace(name, bytes).second) sum_ += bytes;
  while (sum_ > budget_) most_bytes_ /= 2, RemoveLargest();
  if (bytes > most_bytes_) RemoveLargest();  // another thread has halved the limit meanwhile
}

void StoredOutputs::RemoveLargest() {
  std::erase_if(kept_, [this](const auto& file) {
    if (file.second <= most_bytes_) return false;
    sum_ -= file.second;
    std::error_code error;
    std::filesystem::remove(out_ / file.first, error);
    return true;
  });
}

uint64_t StoredOutputs::most_bytes() const {
  const std::lock_guard lock(mutex_);
  return most_bytes_;
}

std::string StoredOutputs::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace assay
