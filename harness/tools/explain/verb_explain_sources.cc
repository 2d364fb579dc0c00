// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/verb_explain_sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/process.h"
#include "harness/engine/results/exit_code.h"
#include "harness/tools/check/check_case.h"
#include "harness/tools/check/tensor_args.h"
#include "harness/tools/explain/verb_case_on_devices.h"

namespace assay::cli {
namespace {

tl::unexpected<Refusal> RefuseUsage(const Error& error) {
  return tl::unexpected(Refusal{kExitUsage, error.message});
}

// A result and its --output options, in the order in which they are given.
using OutputsOfResults = std::vector<std::pair<std::string, std::vector<std::string>>>;

Result<OutputsOfResults> SortOutputs(const OpSchema& schema, const std::vector<std::string>& outputs) {
  const auto is_output = [&](const std::string& name) { return std::ranges::count(schema.outputs, name) > 0; };
  std::vector<NamedFile> files;
  for (const std::string& text : outputs) {
    auto file = ParseNamedFile(text, outputs.size() == 1);
    if (!file) return UsageError("--output " + file.error().message);
    files.push_back(*std::move(file));
  }
  const auto is_of_one = [&](const NamedFile& file) { return file.name.empty() || is_output(file.name); };
  if (std::ranges::all_of(files, is_of_one)) return OutputsOfResults{{files[0].path, outputs}};
  OutputsOfResults results;
  for (const NamedFile& file : files) {
    const size_t dot = schema.outputs.size() == 1 ? std::string::npos : file.name.rfind('.');
    const std::string output = dot == std::string::npos ? schema.outputs[0] : file.name.substr(dot + 1);
    if (schema.outputs.size() > 1 && (dot == std::string::npos || !is_output(output))) {
      return UsageError(
          fmt::format("--output {0}=FILE: {1} has several outputs; of two results to compare give "
                      "--output {0}.{2}=FILE for each of them",
                      file.name, schema.op, schema.outputs[0]));
    }
    const std::string name = file.name.substr(0, dot);
    auto known = std::ranges::find(results, name, &OutputsOfResults::value_type::first);
    if (known == results.end()) known = results.insert(known, {name, {}});
    known->second.push_back(output + "=" + file.path);
  }
  return results;
}

Status AddResult(const CheckRequest& request, const std::string& name, CaseWithOutputs& read) {
  auto user = BindUserCase(request);
  if (!user) return tl::unexpected(user.error());
  if (read.results.empty()) {
    read.data = std::move(user->data), read.defaults = std::move(user->defaults);
  } else if (user->data.problem.spec != read.data.problem.spec) {
    return UsageError(fmt::format("the outputs of {} and {} are of different cases: {} and {}", read.results[0].name,
                                  name, read.data.problem.spec.Id(), user->data.problem.spec.Id()));
  }
  read.results.push_back({.name = name, .outputs = std::move(user->got), .judged_by = request});
  return {};
}

bool IsBreakdown(const Record& record) {
  const auto verdict = ParseVerdict(record.verdict);
  return verdict == Verdict::kCrash || verdict == Verdict::kError || verdict == Verdict::kTimeout;
}

}  // namespace

std::string ContractToJudgeBy(const std::string& declared) {
  return declared.find("math=") == std::string::npos ? declared + "; math=0" : declared;
}

ReadCases ReadTensors(const CheckRequest& request) {
  const auto op = FindOperator(request.op);
  if (!op) return RefuseUsage(op.error());
  const auto results = SortOutputs((*op)->schema(), request.outputs);
  if (!results) return RefuseUsage(results.error());
  CaseWithOutputs read;
  for (const auto& [name, outputs] : *results) {
    CheckRequest one = request;
    one.outputs = outputs;
    if (auto added = AddResult(one, name, read); !added) return RefuseUsage(added.error());
  }
  std::vector<CaseWithOutputs> cases;
  cases.push_back(std::move(read));
  return cases;
}

ReadCases ExecuteCase(const std::string& id, const RunOptions& options, const CheckRequest& request) {
  auto opened = OpenCase(id, options);
  if (!opened) return tl::unexpected(opened.error());
  CaseOnDevices& on = **opened;
  if (auto taken = GiveInputs(request.inputs, request.tier, on.data); !taken) return RefuseUsage(taken.error());
  CaseWithOutputs read;
  read.planned = on.planned();
  TrialRunner runner(on.planned(), on.data, on.policy.runner);
  for (const Device& device : on.prepared.devices) {
    runner.Judge(device, [&](Attempt attempt) {
      const Record& record = attempt.record;
      const std::string reason = record.reason.empty() ? "" : ": " + record.reason;
      NamedResult result{.name = device.selector + (attempt.implementation.empty() ? "" : " " + attempt.implementation),
                         .outputs = std::move(attempt.outputs),
                         .said = record.verdict + reason,
                         .has_failed = IsBreakdown(record)};
      result.judged_by.contract = ContractToJudgeBy(ToText(attempt.contract));
      result.judged_by.tier = options.tier;
      read.results.push_back(std::move(result));
    });
  }
  if (Interrupted()) return tl::unexpected(Refusal{kExitInterrupted, "interrupted before the case was executed"});
  read.data = std::move(on.data);
  std::vector<CaseWithOutputs> cases;
  cases.push_back(std::move(read));
  return cases;
}

}  // namespace assay::cli
