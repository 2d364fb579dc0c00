// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/stored_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "harness/core/data/safetensors.h"
#include "harness/tools/check/suite_case.h"

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

uint64_t LimitThatFits(std::span<const uint64_t> sizes, uint64_t budget) {
  uint64_t limit = kMostStoredBytes;
  const auto sum_within = [&] {
    uint64_t sum = 0;
    for (const uint64_t size : sizes) sum += size <= limit ? size : 0;
    return sum;
  };
  while (sum_within() > budget) limit /= 2;
  return limit;
}

KeptResults FindKept(const Plan& plan, const RecordView& records, const std::vector<EvidenceDraw>& draws) {
  const CaseIndex index = IndexOf(plan.entries);
  std::unordered_map<std::string, uint64_t> bytes_of_case;
  std::map<std::string, std::pair<uint64_t, const PlanEntry*>> files;
  for (const Record& r : records) {
    if (r.output_hash.empty()) continue;
    const auto [bytes, is_new] = bytes_of_case.try_emplace(r.case_id, 0);
    if (is_new) bytes->second = OutputBytes(r);
    const auto at = index.find(r.case_id);
    files[StoredOutputFile(r)] = {bytes->second, at == index.end() ? nullptr : &plan.entries[at->second]};
  }
  KeptResults kept;
  for (const EvidenceDraw& draw : draws) {
    std::vector<uint64_t> sizes;
    for (const auto& [name, file] : files) {
      if (file.second != nullptr && InShard(*file.second, draw.shard)) sizes.push_back(file.first);
    }
    kept.most_bytes = std::min(kept.most_bytes, LimitThatFits(sizes));
  }
  for (const Record& r : records) {
    const auto bytes = bytes_of_case.find(r.case_id);
    if (!r.output_hash.empty() && bytes->second <= kept.most_bytes) kept.names.push_back(ResultName(r));
  }
  return kept;
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
  if (bytes > most_bytes_) {  // another thread has halved the limit meanwhile
    std::error_code error;
    std::filesystem::remove(out_ / name, error);
    return;
  }
  if (kept_.emplace(name, bytes).second) sum_ += bytes;
  while (sum_ > budget_) most_bytes_ /= 2, RemoveLargest();
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
