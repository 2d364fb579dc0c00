// SPDX-License-Identifier: Apache-2.0
// assay_judge and the verdicts.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/c_api/api_call.h"
#include "harness/c_api/given_array.h"
#include "harness/c_api/verdict_object.h"
#include "harness/tools/check/check_text.h"

namespace assay::c_api {
namespace {

Status CheckTier(const std::string& tier) {
  if (tier == "auto" || tier == "fast" || tier == "reproducible") return {};
  return UsageError(fmt::format("tier '{}' is not auto, fast or reproducible", tier));
}

Status CheckExplain(const std::string& explain) {
  if (explain == "quick" || explain == "full" || explain == "no") return {};
  return UsageError(fmt::format("explain '{}' is not quick, full or no", explain));
}

Result<CheckRequest> RequestOf(const assay_question& question) {
  CheckRequest request;
  if (question.op == nullptr) return UsageError("op is NULL; name the operator, such as matmul");
  request.op = question.op;
  if (question.n_attrs > 0 && question.attrs == nullptr) return UsageError("attrs is NULL, but n_attrs is not 0");
  for (uint64_t i = 0; i < question.n_attrs; ++i) {
    const std::string key = TextOr(question.attrs[2 * i]);
    if (key.empty()) return UsageError(fmt::format("attribute {} has no name", i));
    request.attrs.push_back(key + "=" + TextOr(question.attrs[2 * i + 1]));
  }
  request.contract = TextOr(question.contract);
  request.requirement = TextOr(question.require);
  request.tier = TextOr(question.tier, "auto");
  if (auto known = CheckTier(request.tier); !known) return tl::unexpected(known.error());
  request.explain = TextOr(question.explain, "quick");
  if (auto known = CheckExplain(request.explain); !known) return tl::unexpected(known.error());
  const auto sample = SampleOf(question.sample, question.sample_seed);
  if (!sample) return tl::unexpected(sample.error());
  request.sample = *sample;
  if (question.n_sample_at > 0 && question.sample_at == nullptr) {
    return UsageError("sample_at is NULL, but n_sample_at is not 0");
  }
  request.sample.wanted.resize(question.n_outputs);
  for (uint64_t i = 0; i < question.n_sample_at; ++i) {
    const uint64_t output = question.sample_at[2 * i], element = question.sample_at[2 * i + 1];
    if (output >= question.n_outputs)
      return UsageError(fmt::format("sample_at names output {} of {}", output, question.n_outputs));
    request.sample.wanted[output].push_back(static_cast<int64_t>(element));
  }
  return request;
}

Result<UserTensors> Bind(const assay_question& question, const CheckRequest& request) {
  const auto op = FindOperator(request.op);
  if (!op) return tl::unexpected(op.error());
  const OpSchema& schema = (*op)->schema();
  const auto inputs = TakeArrays(schema, question.inputs, question.n_inputs, false);
  if (!inputs) return tl::unexpected(inputs.error());
  const auto outputs = TakeArrays(schema, question.outputs, question.n_outputs, true);
  if (!outputs) return tl::unexpected(outputs.error());
  // Missing operands are reported before anything is copied.
  if (auto fine = CheckOperandNames(schema, inputs->names, outputs->names, Asker::kProgram); !fine) {
    return tl::unexpected(fine.error());
  }
  TensorSet set;
  for (const auto& [from, to] : {std::pair(&*inputs, &set.inputs), std::pair(&*outputs, &set.outputs)}) {
    auto read = ReadArrays(*from, request.sample.elements > 0);
    if (!read) return Fail(read.error().code, request.op + ": " + read.error().message);
    *to = *std::move(read);
  }
  return BindTensors(request, std::move(set), Asker::kProgram);
}

// The record's line, and "causes", each by itself.
std::string RecordWithCauses(const UserTensors& user, const CheckResult& judged) {
  std::string line = ToJsonLine(judged.record);
  if (judged.causes.empty()) return line;
  Json json = Json::parse(line);
  for (const Cause& cause : judged.causes)
    json["causes"].push_back(DescribeCause(user.data.problem, cause, AttributeTextFor(user.asker)));
  return json.dump();
}

}  // namespace

Result<SampleRequest> SampleOf(uint64_t elements, uint64_t seed) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  if (elements <= kMost && seed <= kMost) return SampleRequest{static_cast<int64_t>(elements), seed};
  return UsageError(fmt::format("sample and sample_seed are at most 2^62; they are {} and {}", elements, seed));
}

std::unique_ptr<assay_verdict> MakeVerdict(const UserTensors& user, const CheckResult& judged, bool with_text) {
  const Record& record = judged.record;
  auto verdict = std::make_unique<assay_verdict>();
  verdict->passed = judged.worst().decision.verdict == Verdict::kPass;
  verdict->weak = record.weak_pass.value_or(false);
  verdict->name = record.verdict;
  verdict->result_class = record.result_class;
  verdict->reason = record.reason;
  verdict->record = RecordWithCauses(user, judged);
  if (with_text) verdict->text = CheckText(user, judged);
  return verdict;
}

}  // namespace assay::c_api

using assay::c_api::Call;

int32_t assay_judge(const assay_question* question, assay_verdict** verdict) {
  if (verdict != nullptr) *verdict = nullptr;
  return Call([&]() -> assay::Status {
    if (verdict == nullptr) return assay::UsageError("there is nowhere to put the verdict: it is NULL");
    const auto known = assay::c_api::Known(question, "question");
    if (!known) return tl::unexpected(known.error());
    const auto request = assay::c_api::RequestOf(*known);
    if (!request) return tl::unexpected(request.error());
    auto user = assay::c_api::Bind(*known, *request);
    if (!user) return tl::unexpected(user.error());
    const auto judged = assay::JudgeUserCase(*request, *user, {});
    if (!judged) return tl::unexpected(judged.error());
    *verdict = assay::c_api::MakeVerdict(*user, *judged, request->explain != "no").release();
    return {};
  });
}

void assay_verdict_free(assay_verdict* verdict) {
  delete verdict;
}

int32_t assay_verdict_passed(const assay_verdict* verdict) {
  return verdict != nullptr && verdict->passed ? 1 : 0;
}

int32_t assay_verdict_passed_strictly(const assay_verdict* verdict) {
  const bool is_suspect = verdict != nullptr && verdict->result_class == Name(assay::ResultClass::kSuspect);
  return assay_verdict_passed(verdict) == 1 && !is_suspect && !verdict->weak ? 1 : 0;
}

const char* assay_verdict_name(const assay_verdict* verdict) {
  return verdict == nullptr ? "" : verdict->name.c_str();
}

const char* assay_verdict_class(const assay_verdict* verdict) {
  return verdict == nullptr ? "" : verdict->result_class.c_str();
}

const char* assay_verdict_reason(const assay_verdict* verdict) {
  return verdict == nullptr ? "" : verdict->reason.c_str();
}

const char* assay_verdict_record(const assay_verdict* verdict) {
  return verdict == nullptr ? "" : verdict->record.c_str();
}

const char* assay_verdict_text(const assay_verdict* verdict) {
  return verdict == nullptr ? "" : verdict->text.c_str();
}
