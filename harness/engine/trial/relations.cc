// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <thread>

#include "harness/engine/device/executions.h"
#include "harness/judge/judge_output.h"
#include "ops/relation.h"

namespace assay {
namespace {

// Repetitions under load, with --relations all.
constexpr int kLoadedRepetitions = 4;

// Every core of the host busy, so that threads of an implementation meet in another order.
class HostLoad {
 public:
  HostLoad() {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < cores; ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        volatile uint64_t count = 0;
        while (!stop.stop_requested()) count = count + 1;
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

uint64_t OperandBytes(const PreparedCase& data) {
  uint64_t bytes = 0;
  for (const Operand& output : data.problem.outputs) bytes += BytesOf(output);
  for (const Tensor& t : data.inputs) bytes += t.bytes();
  return bytes;
}

// The largest |a - b| over the sum of what is permitted to both.
double LargestDistance(std::span<const double> a, std::span<const double> permitted_a, std::span<const double> b,
                       std::span<const double> permitted_b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double permitted = permitted_a[i] + permitted_b[i];
    if (a[i] == b[i] || std::isinf(permitted)) continue;
    const double distance = std::abs(a[i] - b[i]) / permitted;
    largest = distance > largest || std::isnan(distance) ? distance : largest;
  }
  return std::isnan(largest) ? HUGE_VAL : largest;
}

class Runner {
 public:
  Runner(const RelationRequest& request, Findings& findings) : request_(request), findings_(findings) {}

  Call<void> Run();

 private:
  bool IsAffordable(const Relation& relation) const;
  bool HasRoom(double executions) const;
  using Outputs = std::vector<Tensor>;
  Call<void> Try(const Relation& relation, size_t output);
  Call<std::optional<Outputs>> ExecuteOther(const Relation& relation, const std::vector<Tensor>& inputs);
  Call<Outputs> Execute(const PreparedPlan& plan, const std::vector<Tensor>& inputs);
  Call<void> Repeat();
  void JudgeRepetition(Outputs again, std::vector<PropertyFinding>& findings);
  bool IsOfCase(const ImplementationInfo& info) const;

  const RelationRequest& request_;
  Findings& findings_;
  int executions_ = 0, goldens_ = 0;
};

bool Runner::HasRoom(double executions) const {
  if (request_.effort == RelationEffort::kAll) return true;
  const double flops = (executions_ + goldens_ * kGoldenExecutions + executions) * request_.data().problem.flops;
  return executions_ < kMostRelationExecutions && flops <= kMostRelationFlops;
}

bool Runner::IsAffordable(const Relation& relation) const {
  return HasRoom(relation.needs_golden ? 1 + kGoldenExecutions : 1);
}

bool Runner::IsOfCase(const ImplementationInfo& info) const {
  if (info.name != request_.attempt.implementation) return false;
  const auto contract = ParseDeclaration(info.contract_text);
  return contract && *contract == request_.attempt.contract;
}

Call<Runner::Outputs> Runner::Execute(const PreparedPlan& plan, const std::vector<Tensor>& inputs) {
  ++executions_;
  auto execution = plan.Execute(inputs, executions_ % 2 == 0 ? Prefill::kNanPayload : Prefill::kSentinel);
  if (!execution) return tl::unexpected(execution.error());
  AddObservations(*execution, findings_);
  return std::move(execution->outputs);
}

// The case's own problem has its plan already. Another one may not be offered, or under another contract: none.
Call<std::optional<Runner::Outputs>> Runner::ExecuteOther(const Relation& relation, const std::vector<Tensor>& inputs) {
  if (!relation.problem) {
    auto outputs = Execute(request_.plan, inputs);
    if (!outputs) return tl::unexpected(outputs.error());
    return std::optional(*std::move(outputs));
  }
  const auto offered = request_.context.offers().Find(request_.device, *relation.problem);
  if (!offered && offered.error().kind != FailureKind::kUnsupported &&
      offered.error().kind != FailureKind::kUnavailable) {
    return tl::unexpected(offered.error());
  }
  const auto is_of_case = [&](const ImplementationInfo& info) { return IsOfCase(info); };
  if (!offered || std::none_of(offered->begin(), offered->end(), is_of_case)) return std::optional<Outputs>();
  auto plan = PreparedPlan::Make(request_.device, *relation.problem, request_.attempt.implementation);
  if (!plan) return tl::unexpected(plan.error());
  auto outputs = Execute(*plan, inputs);
  const Call<void> freed = plan->Release();
  if (!outputs) return tl::unexpected(outputs.error());
  if (!freed) return tl::unexpected(freed.error());
  return std::optional(*std::move(outputs));
}

Call<void> Runner::Try(const Relation& relation, size_t number) {
  const PreparedCase& data = request_.data();
  const PreparedOutput& of = data.outputs[number];
  auto other = relation.make({*data.op, data.problem, number, data.inputs, of.golden, request_.by.outputs[number].bound,
                              request_.attempt.contract, request_.attempt.outputs[number]});
  if (relation.needs_golden) ++goldens_;
  if (!other) return {};
  if (!other->first.empty()) {
    auto first = Execute(request_.plan, other->first);
    if (!first) return tl::unexpected(first.error());
    other->expected = (*first)[number].ToDoubles();
  }
  Shape shape = (relation.problem ? *relation.problem : data.problem).outputs[number].shape;
  if (other->inputs.empty()) {
    shape = {std::ssize(other->values)};
  } else {
    auto outputs = ExecuteOther(relation, other->inputs);
    if (!outputs) return tl::unexpected(outputs.error());
    if (!*outputs) return {};
    other->values = (**outputs)[number].ToDoubles();
  }
  PropertyFinding finding = CheckProperty(relation.name, shape, other->expected, other->tolerance, other->values);
  finding.claimed = IsClaimed(relation.claim, request_.attempt.contract, data.inputs[0].dtype());
  findings_.outputs[number].observed.properties.push_back(std::move(finding));
  return {};
}

// After other data and shapes, and in a full effort under load: the case's own bits again.
Call<void> Runner::Repeat() {
  std::vector<PropertyFinding> findings(findings_.outputs.size());
  for (PropertyFinding& finding : findings) finding.name = "repeat";
  const auto all_hold = [&] { return std::ranges::all_of(findings, &PropertyFinding::Holds); };
  std::optional<HostLoad> load;
  if (request_.effort == RelationEffort::kAll) load.emplace();
  for (int i = 0; i < (load ? kLoadedRepetitions : 1) && all_hold(); ++i) {
    auto again = Execute(request_.plan, request_.data().inputs);
    if (!again) return tl::unexpected(again.error());
    JudgeRepetition(*std::move(again), findings);
  }
  for (size_t k = 0; k < findings.size(); ++k) {
    findings_.outputs[k].observed.properties.push_back(std::move(findings[k]));
  }
  return {};
}

void Runner::JudgeRepetition(Outputs again, std::vector<PropertyFinding>& findings) {
  const PreparedCase& data = request_.data();
  for (size_t k = 0; k < again.size(); ++k) {
    const Tensor& first = request_.attempt.outputs[k];
    if (SameBits(again[k], first)) continue;
    const PreparedOutput& of = data.outputs[k];
    findings[k] = CheckProperty("repeat", data.problem.outputs[k].shape, first.ToDoubles(), {}, again[k].ToDoubles());
    JudgeInputs& observed = findings_.outputs[k].observed;
    observed.bits_equal = false;  // Decide knows what det=yes asks for
    observed.runs.push_back(JudgeOutput(
        {*data.op, data.problem, k, data.inputs, of.golden, request_.by.outputs[k].bound, request_.attempt.contract},
        again[k]));
  }
}

Call<void> Runner::Run() {
  const auto explain = [](const std::string& name, WorkerFailure failure) {
    failure.message = fmt::format("in the relation '{}': {}", name, failure.message);
    return tl::unexpected(std::move(failure));
  };
  for (size_t k = 0; k < request_.data().outputs.size(); ++k) {
    std::vector<Relation> relations = request_.data().op->Relations(request_.data().problem, k);
    // Relations whose failure would count come first.
    const DType in = request_.data().inputs[0].dtype();
    std::stable_partition(relations.begin(), relations.end(),
                          [&](const Relation& r) { return IsClaimed(r.claim, request_.attempt.contract, in); });
    for (const Relation& relation : relations) {
      if (!IsAffordable(relation)) continue;
      if (auto tried = Try(relation, k); !tried) return explain(relation.name, tried.error());
    }
  }
  if (!HasRoom(1)) return {};
  if (auto repeated = Repeat(); !repeated) return explain("repeat", repeated.error());
  return {};
}

}  // namespace

std::optional<RelationEffort> ParseRelationEffort(const std::string& name) {
  if (name == "none") return RelationEffort::kNone;
  if (name == "quick") return RelationEffort::kQuick;
  if (name == "all") return RelationEffort::kAll;
  return std::nullopt;
}

Call<void> RunRelations(const RelationRequest& request, Findings& findings) {
  const bool quick = request.effort == RelationEffort::kQuick;
  if (request.effort == RelationEffort::kNone) return {};
  if (quick && static_cast<double>(OperandBytes(request.data())) > kMostRelationBytes) return {};
  return Runner(request, findings).Run();
}

std::string PropertiesText(const std::vector<PropertyFinding>& properties) {
  std::string text;
  for (const PropertyFinding& p : properties) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", p.name, p.Holds() ? "yes" : "no");
  }
  return text;
}

std::string BreaksText(const std::vector<PropertyFinding>& properties) {
  std::string text;
  for (const PropertyFinding& p : properties) {
    if (!p.Holds()) text += fmt::format("{}{}: {}", text.empty() ? "" : " | ", p.name, p.where);
  }
  return text;
}

const std::vector<double>& Agreement::Tolerances(const Golden& golden, const BoundModel& bound) {
  std::vector<double>& tolerances = tolerances_[&bound];
  if (!tolerances.empty()) return tolerances;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const bool open = bound.AlsoAt(i) != 0 || !std::isfinite(golden.value[i]);
    tolerances.push_back(open ? HUGE_VAL : bound.LargestToleranceAt(golden, i));
  }
  return tolerances;
}

std::string Agreement::Add(const PreparedCase& data, const BoundModel& bound, const std::string& implementation,
                           const Tensor& output, size_t number) {
  const Golden& golden = data.outputs[number].golden;
  if (bound.exact || golden.size() > kMostAgreementValues) return "";
  if (static_cast<double>(OperandBytes(data)) > kMostRelationBytes) return "";
  Member added{implementation, output.ToDoubles(), &Tolerances(golden, bound), HUGE_VAL};
  double largest = -1;
  const Member* farthest = nullptr;
  for (Member& other : members_) {
    const double distance = LargestDistance(added.values, *added.tolerances, other.values, *other.tolerances);
    if (distance > largest) largest = distance, farthest = &other;
    added.nearest = std::min(added.nearest, distance);
    if (members_.size() < kMostCompared) other.nearest = std::min(other.nearest, distance);
  }
  std::string text = farthest == nullptr ? "" : fmt::format("agreement({})={:.3g}", farthest->implementation, largest);
  if (members_.size() == kMostCompared) return text;
  members_.push_back(std::move(added));
  const std::string odd = FindOddOneOut();
  return odd.empty() ? text : text + ";" + odd;
}

std::string Agreement::FindOddOneOut() const {
  if (members_.size() < 3) return "";
  const auto nearer = [](const Member& a, const Member& b) { return a.nearest < b.nearest; };
  const auto odd = std::ranges::max_element(members_, nearer);
  double others = 0;
  for (const Member& member : members_) others = &member == &*odd ? others : std::max(others, member.nearest);
  if (!(odd->nearest > kOdd * others)) return "";
  return fmt::format("odd_one_out({})={:.3g}", odd->implementation, odd->nearest);
}

}  // namespace assay
