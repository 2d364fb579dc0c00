// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/slice_passport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/executions.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

std::vector<int64_t> Range(int64_t first, int64_t n) {
  std::vector<int64_t> indices(static_cast<size_t>(n));
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

class SliceProber {
 public:
  SliceProber(const Device& device, const BoundCase& bound, SlicePassport& passport)
      : device_(device), bound_(bound), passport_(passport) {}

  Status Run() {
    auto data = PrepareInputs(bound_);
    if (!data) return tl::unexpected(data.error());
    inputs_ = std::move(data->inputs);
    auto plan = PreparedPlan::Make(device_, bound_.problem, passport_.implementation);
    if (!plan) return Fail(ErrorCode::kUnavailable, plan.error().message);
    std::set<std::string> hashes;
    for (int call = 0; call < SlicePassport::kRepeats; ++call) {
      auto outputs = Execute(*plan, inputs_);
      if (!outputs) return tl::unexpected(outputs.error());
      whole_ = *std::move(outputs);
      hashes.insert(HashOf(whole_));
    }
    passport_.repeats = hashes.size() == 1;
    if (TakesExtremes(bound_.problem)) {
      auto extremes = FindExtremes(bound_.problem, *plan);
      if (!extremes) return tl::unexpected(extremes.error());
      passport_.extremes = *std::move(extremes);
    }
    for (const SliceableAxis& axis : ListSliceableAxes(*bound_.op, bound_.problem)) {
      const bool is_batch = axis.cut.inputs.front() >= 0;
      if (auto tried = TryAxis(axis.cut, {.extent = axis.extent, .is_batch = is_batch}); !tried) return tried;
    }
    const auto last = FindLastQueries(bound_.problem);
    return last ? TryAxis(last->cut, {.extent = last->extent, .only_last = true}) : Status();
  }

 private:
  Result<std::vector<Tensor>> Execute(const PreparedPlan& plan, const std::vector<Tensor>& inputs) {
    ++passport_.executions;
    auto execution = plan.Execute(inputs, Prefill::kNanPayload);
    if (!execution) return Fail(ErrorCode::kUnavailable, execution.error().message);
    return std::move(execution->outputs);
  }

  Status TryAxis(const SliceCut& cut, SliceAxisPassport of) {
    for (const int64_t n : ListPartialNumbers(of.extent)) {
      if (auto tried = Try(cut, n, of); !tried) return tried;
    }
    passport_.axes.push_back(std::move(of));
    return {};
  }

  Status Try(SliceCut cut, int64_t n, SliceAxisPassport& of) {
    bool is_equal = true;
    std::optional<PreparedPlan> plan;
    for (const int64_t first : {of.extent - n, int64_t{0}}) {
      if (of.only_last && first == 0) break;
      cut.indices = Range(first, n);
      const auto part = TakeSlices(*bound_.op, bound_.problem, inputs_, {cut});
      if (part) of.name = ChangedAttribute(bound_.problem, part->problem);
      if (part && !plan) plan = Prepare(part->problem);
      if (!plan) {
        of.not_taken.push_back(n);
        return {};
      }
      const auto outputs = Execute(*plan, part->inputs);
      if (!outputs) return tl::unexpected(outputs.error());
      for (size_t k = 0; k < outputs->size(); ++k) {
        is_equal = is_equal && HashOf((*outputs)[k]) == HashOf(part->TakeOutput(whole_[k], k));
      }
    }
    (is_equal ? of.equal : of.other).push_back(n);
    return {};
  }

  std::optional<PreparedPlan> Prepare(const Problem& problem) const {
    const auto offers = device_.session->Query(device_.device_index, problem);
    const auto is_it = [&](const ImplementationInfo& offer) { return offer.name == passport_.implementation; };
    if (!offers || std::ranges::none_of(*offers, is_it)) return std::nullopt;
    auto plan = PreparedPlan::Make(device_, problem, passport_.implementation);
    return plan ? std::optional(*std::move(plan)) : std::nullopt;
  }

  const Device& device_;
  const BoundCase& bound_;
  SlicePassport& passport_;
  std::vector<Tensor> inputs_, whole_;
};

void FindContradictions(SlicePassport& passport) {
  const auto contract = ParseDeclaration(passport.contract);
  if (!contract) return;
  auto& found = passport.contradictions;
  if (contract->deterministic && !passport.repeats)
    found.emplace_back("calls on equal data differ in their bits; the contract says det=yes");
  for (const SliceAxisPassport& axis : passport.axes) {
    if (!contract->batch_invariant || !axis.is_batch || axis.other.empty()) continue;
    found.push_back(fmt::format("of {}={}, {} alone have other bits; the contract says batchinv=yes", axis.name,
                                axis.extent, fmt::join(axis.other, " ")));
  }
  if (!passport.extremes || contract->nan == NanPolicy::kAny) return;
  const bool wins = contract->nan == NanPolicy::kPropagate;
  if (passport.extremes->nan == (wins ? kNanWins : kNanLoses)) return;
  found.push_back(fmt::format("of a NaN in a row: {}; the contract says nan={}", passport.extremes->nan,
                              wins ? "propagate" : "ignore"));
}

}  // namespace

bool HasComparableSlices(const BoundCase& bound) {
  return FindLastQueries(bound.problem) || !ListSliceableAxes(*bound.op, bound.problem).empty();
}

Result<SlicePassport> TakeSlicePassport(const Device& device, const BoundCase& bound, const std::string& implementation,
                                        const std::string& contract) {
  SlicePassport passport{.case_id = bound.problem.spec.Id(), .implementation = implementation, .contract = contract};
  if (auto taken = SliceProber(device, bound, passport).Run(); !taken) return tl::unexpected(taken.error());
  FindContradictions(passport);
  return passport;
}

Json AxesJson(const SlicePassport& passport) {
  Json axes = Json::array();
  for (const SliceAxisPassport& axis : passport.axes) {
    axes.push_back({{"attribute", axis.name},
                    {"extent", axis.extent},
                    {"only_last", axis.only_last},
                    {"equal", axis.equal},
                    {"other", axis.other},
                    {"not_taken", axis.not_taken}});
  }
  return axes;
}

std::string AxesText(const SlicePassport& passport) {
  std::string text;
  for (const SliceAxisPassport& axis : passport.axes) {
    std::vector<std::string> parts;
    const auto add = [&](const std::vector<int64_t>& numbers, const char* what) {
      if (!numbers.empty()) parts.push_back(fmt::format("{} {}", fmt::join(numbers, " "), what));
    };
    add(axis.equal, "with the same bits"), add(axis.other, "with others"), add(axis.not_taken, "not taken");
    text += fmt::format("  {:<15} of {}={}{}: {}\n", "parts", axis.name, axis.extent,
                        axis.only_last ? ", the last" : "", fmt::join(parts, ", "));
  }
  return text;
}

Json ToJson(const SlicePassport& passport) {
  Json json = {{"case", passport.case_id},         {"implementation", passport.implementation},
               {"contract", passport.contract},    {"repeats", passport.repeats},
               {"slices", AxesJson(passport)},     {"contradictions", passport.contradictions},
               {"executions", passport.executions}};
  if (passport.extremes) json["extremes"] = ToJson(*passport.extremes);
  if (!passport.why_no_order.empty()) json["no_order"] = passport.why_no_order;
  return json;
}

std::string TextOf(const SlicePassport& passport) {
  std::string text =
      fmt::format("{}\n  implementation  {}, contract {}\n  {:<15} {} of {} give equal bits\n{}{}", passport.case_id,
                  passport.implementation, passport.contract, "calls", passport.repeats ? "all" : "not all",
                  SlicePassport::kRepeats, AxesText(passport), passport.extremes ? TextOf(*passport.extremes) : "");
  if (!passport.why_no_order.empty()) text += fmt::format("  {:<15} unknown: {}\n", "order", passport.why_no_order);
  for (const std::string& what : passport.contradictions) text += fmt::format("  {:<15} {}\n", "CONTRADICTION", what);
  return text;
}

}  // namespace assay
