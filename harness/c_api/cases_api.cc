// SPDX-License-Identifier: Apache-2.0
// Cases of suites: their inputs, and outputs judged for them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/c_api/api_call.h"
#include "harness/c_api/given_array.h"
#include "harness/c_api/verdict_object.h"
#include "harness/plan/catalog.h"
#include "harness/tools/check/suite_case.h"

struct assay_cases {
  std::vector<assay::PlannedCase> cases;
  std::vector<std::string> ids;
};

struct assay_case {
  assay::UserTensors user;  // keeps the golden values of the first judgement
  std::string text;
};

namespace assay::c_api {
namespace {

std::vector<std::string> SplitAtCommas(const char* text) {
  std::vector<std::string> words;
  std::string rest = TextOr(text);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (const std::string word = rest.substr(0, comma); !word.empty()) words.push_back(word);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return words;
}

Result<PlanOptions> OptionsOf(const assay_selection& selection) {
  PlanOptions options;
  options.suite = TextOr(selection.suite);
  options.ops = SplitAtCommas(selection.ops);
  options.dtypes = SplitAtCommas(selection.dtypes);
  options.filter = TextOr(selection.filter, "*");
  if (selection.n_cases > 0 && selection.cases == nullptr) return UsageError("cases is NULL, but n_cases is not 0");
  for (uint64_t i = 0; i < selection.n_cases; ++i) options.cases.push_back(TextOr(selection.cases[i]));
  return options;
}

Result<std::unique_ptr<assay_case>> Make(const PlannedCase& planned) {
  auto user = MakeSuiteCase(planned, Asker::kCase);
  if (!user) return tl::unexpected(user.error());
  std::string text = DescribeSuiteCase(planned, user->data).dump();
  return std::make_unique<assay_case>(assay_case{*std::move(user), std::move(text)});
}

Status JudgeCase(assay_case& one, uint64_t count, const assay_array* const* outputs, const char* contract,
                 const SampleRequest& sample, assay_verdict** verdict) {
  const auto given = TakeArrays(one.user.data.op->schema(), outputs, count, true);
  if (!given) return tl::unexpected(given.error());
  auto read = ReadArrays(*given, sample.elements > 0);
  if (!read) return tl::unexpected(read.error());
  if (sample.elements > 0) {
    const auto judged = JudgeSample(one.user, *std::move(read), TextOr(contract), sample);
    if (!judged) return tl::unexpected(judged.error());
    *verdict = MakeVerdict(judged->user, judged->result).release();
    return {};
  }
  auto judged = JudgeOutputs(one.user, *std::move(read), TextOr(contract));
  if (!judged) return tl::unexpected(judged.error());
  *verdict = MakeVerdict(one.user, *judged).release();
  one.user.got.clear();
  return {};
}

// Whether there is such an object and, of its operands, such an index.
Status CheckIndex(const assay_case* one, uint64_t index, size_t count, const char* what) {
  if (one == nullptr) return UsageError("the case is NULL");
  if (index < count) return {};
  return UsageError(fmt::format("there is no {} {}; the case has {}", what, index, count));
}

}  // namespace
}  // namespace assay::c_api

using assay::Status;
using assay::UsageError;
using assay::c_api::Call;

int32_t assay_cases_select(const assay_selection* selection, assay_cases** cases) {
  if (cases != nullptr) *cases = nullptr;
  return Call([&]() -> Status {
    if (cases == nullptr) return UsageError("there is nowhere to put the cases: it is NULL");
    const auto known = assay::c_api::Known(selection, "selection");
    if (!known) return tl::unexpected(known.error());
    const auto options = assay::c_api::OptionsOf(*known);
    if (!options) return tl::unexpected(options.error());
    // A scheduler's shard is that of its own tests.
    auto planned = assay::PlanCases(*options, [](const char*) -> const char* { return nullptr; });
    if (!planned) return tl::unexpected(planned.error());
    if (planned->selection.cases.empty()) return UsageError(planned->selection.empty_message);
    auto found = std::make_unique<assay_cases>();
    found->cases = std::move(planned->selection.cases);
    for (const assay::PlannedCase& one : found->cases) found->ids.push_back(one.spec.Id());
    *cases = found.release();
    return {};
  });
}

void assay_cases_free(assay_cases* cases) {
  delete cases;
}

uint64_t assay_cases_count(const assay_cases* cases) {
  return cases == nullptr ? 0 : cases->ids.size();
}

const char* assay_cases_id(const assay_cases* cases, uint64_t index) {
  return index < assay_cases_count(cases) ? cases->ids[index].c_str() : nullptr;
}

int32_t assay_case_make(const assay_cases* cases, uint64_t index, assay_case** made) {
  if (made != nullptr) *made = nullptr;
  return Call([&]() -> Status {
    if (made == nullptr) return UsageError("there is nowhere to put the case: it is NULL");
    if (index >= assay_cases_count(cases)) {
      return UsageError(fmt::format("there is no case {}; {} are selected", index, assay_cases_count(cases)));
    }
    auto one = assay::c_api::Make(cases->cases[index]);
    if (!one) return tl::unexpected(one.error());
    *made = one->release();
    return {};
  });
}

void assay_case_free(assay_case* one) {
  delete one;
}

const char* assay_case_text(const assay_case* one) {
  return one == nullptr ? "" : one->text.c_str();
}

uint64_t assay_case_count_inputs(const assay_case* one) {
  return one == nullptr ? 0 : one->user.data.problem.inputs.size();
}

uint64_t assay_case_count_outputs(const assay_case* one) {
  return one == nullptr ? 0 : one->user.data.problem.outputs.size();
}

int32_t assay_case_input(const assay_case* one, uint64_t index, assay_array* array) {
  return Call([&]() -> Status {
    const size_t count = assay_case_count_inputs(one);
    if (auto there = assay::c_api::CheckIndex(one, index, count, "input"); !there) return there;
    const assay::Operand& operand = one->user.data.problem.inputs[index];
    const void* data = one->user.data.inputs[index].data();
    return assay::c_api::ShowArray(operand.name, operand.dtype, operand.shape, data, array);
  });
}

int32_t assay_case_output(const assay_case* one, uint64_t index, assay_array* array) {
  return Call([&]() -> Status {
    const size_t count = assay_case_count_outputs(one);
    if (auto there = assay::c_api::CheckIndex(one, index, count, "output"); !there) return there;
    const assay::Operand& operand = one->user.data.problem.outputs[index];
    return assay::c_api::ShowArray(operand.name, operand.dtype, operand.shape, nullptr, array);
  });
}

int32_t assay_case_judge(assay_case* one, uint64_t n_outputs, const assay_array* const* outputs, const char* contract,
                         assay_verdict** verdict) {
  return assay_case_judge_sample(one, n_outputs, outputs, contract, 0, 0, verdict);
}

int32_t assay_case_judge_sample(assay_case* one, uint64_t n_outputs, const assay_array* const* outputs,
                                const char* contract, uint64_t sample, uint64_t sample_seed, assay_verdict** verdict) {
  if (verdict != nullptr) *verdict = nullptr;
  return Call([&]() -> Status {
    if (verdict == nullptr) return UsageError("there is nowhere to put the verdict: it is NULL");
    if (one == nullptr) return UsageError("the case is NULL");
    const auto drawn = assay::c_api::SampleOf(sample, sample_seed);
    if (!drawn) return tl::unexpected(drawn.error());
    return assay::c_api::JudgeCase(*one, n_outputs, outputs, contract, *drawn, verdict);
  });
}
