// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/align/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "harness/core/data/infinity.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/judge/judge.h"
#include "harness/tools/align/configurations.h"
#include "harness/tools/align/rank_sums.h"
#include "harness/tools/align/splits.h"

namespace assay {
namespace {

using Outputs = std::vector<Tensor>;
using Plans = std::map<std::string, PreparedPlan>;  // by the id of their case

// Tolerances of both sides at each element of an output, as a tensor that is cut as the output is.
Tensor TolerancesOf(const PreparedCase& data, size_t output, std::span<const AlignedSide> sides) {
  const Operand& operand = data.problem.outputs[output];
  const Golden& golden = data.outputs[output].golden;
  Tensor tolerances(DType::kF64, operand.shape);
  const std::span<double> of = tolerances.As<double>();
  std::ranges::fill(of, 0);
  const auto parts = static_cast<int64_t>(golden.value.size()) / std::max<int64_t>(1, std::ssize(of));
  for (size_t side = 0; side < 2; ++side) {
    const Contract& contract = sides[std::min(side, sides.size() - 1)].contract;
    const BoundModel bound = BoundOf(data, contract, output);
    const ElementJudge judge(golden, bound, contract, operand.dtype);
    for (int64_t i = 0; i < std::ssize(golden.value); ++i)
      of[static_cast<size_t>(i / parts)] += judge.Judge(i, golden.value[static_cast<size_t>(i)]).Tolerance();
  }
  return tolerances;
}

Tensor PlacesOf(const Shape& shape) {
  Tensor places(DType::kI64, shape);
  const std::span<int64_t> of = places.As<int64_t>();
  std::iota(of.begin(), of.end(), int64_t{0});
  return places;
}

std::span<const std::byte> ElementOf(const Tensor& tensor, int64_t i) {
  const auto size = static_cast<size_t>(SizeOf(tensor.dtype()));
  return {tensor.data() + static_cast<size_t>(i) * size, size};
}

double DistanceOf(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::isnan(a) || std::isnan(b) ? kInfinity : std::fabs(a - b);
}

class Aligner {
 public:
  Aligner(const PreparedCase& data, std::span<const AlignedSide> sides) : data_(data), sides_(sides) {
    for (size_t output = 0; output < data.problem.outputs.size(); ++output) {
      tolerances_.push_back(TolerancesOf(data, output, sides));
      places_.push_back(PlacesOf(data.problem.outputs[output].shape));
    }
  }

  Result<Alignment> Run(const SharedNumbers& shared) {
    alignment_.case_id = data_.problem.spec.Id(), alignment_.input_hash = data_.input_hash;
    for (const AlignedSide& side : sides_) alignment_.sides.push_back(side.Name());
    auto whole = Execute(sides_.front(), data_.problem, {}, data_.inputs);
    if (!whole) return Fail(ErrorCode::kUnavailable, whole.error().message);
    whole_ = *std::move(whole);
    if (auto found = FindOtherOrders(); !found) return tl::unexpected(found.error());
    for (const Configuration& of : ListConfigurations(*data_.op, data_.problem, data_.inputs)) {
      if (auto tried = Try(of); !tried) return tl::unexpected(tried.error());
    }
    for (const int64_t n : shared.ranks) {
      const std::string none = fmt::format("it has no sum over a multiple of {} terms that is its one output", n);
      if (auto tried =
              TryShared(fmt::format("{} ranks", n), ListRankSums(*data_.op, data_.problem, std::span(&n, 1)), none);
          !tried)
        return tl::unexpected(tried.error());
    }
    for (const int64_t n : shared.splits) {
      auto splits = ListSplits(*data_.op, data_.problem, n);
      const std::string none = splits ? "" : splits.error().message;
      if (auto tried = TryShared(fmt::format("{} slices", n), splits.value_or(std::vector<Configuration>{}), none);
          !tried)
        return tl::unexpected(tried.error());
    }
    JoinPlaces();
    return std::move(alignment_);
  }

 private:
  // One number of slices is one problem, whichever these are: a row whose sum is the same in each order proves nothing
  // about it, but its neighbours do.
  void JoinPlaces() {
    const auto problem = [](const AlignedConfiguration& of) { return of.name.substr(0, of.name.find(", from ")); };
    std::set<std::string> showing;
    for (const AlignedConfiguration& of : alignment_.configurations) {
      if (of.shows) showing.insert(problem(of));
    }
    for (AlignedConfiguration& of : alignment_.configurations) of.shows = showing.contains(problem(of));
  }

  static Call<Outputs> Execute(const PreparedPlan& plan, const std::vector<Tensor>& inputs) {
    auto execution = plan.Execute(inputs, Prefill::kNanPayload);
    if (!execution) return tl::unexpected(execution.error());
    return std::move(execution->outputs);
  }

  static Call<Outputs> Execute(const AlignedSide& side, const Problem& problem, const LayoutVariant& layout,
                               const std::vector<Tensor>& inputs) {
    const auto plan = PreparedPlan::Make(side.device, problem, side.implementation, layout);
    return plan ? Execute(*plan, inputs) : tl::unexpected(plan.error());
  }

  static Call<Outputs> Execute(const Plans& plans, const Configuration& of, const std::vector<Tensor>& whole) {
    if (of.parts.empty()) return Execute(plans.at(of.problem.spec.Id()), of.inputs(whole));
    const auto parts = ExecuteParts(plans, of, whole);
    if (!parts) return tl::unexpected(parts.error());
    return of.joined(*parts);
  }

  static Call<std::vector<Outputs>> ExecuteParts(const Plans& plans, const Configuration& of,
                                                 const std::vector<Tensor>& whole) {
    std::vector<Outputs> outputs;
    for (const SharedPart& part : of.parts) {
      auto made = Execute(plans.at(part.problem.spec.Id()), part.inputs(whole));
      if (!made) return tl::unexpected(made.error());
      outputs.push_back(*std::move(made));
    }
    return outputs;
  }

  // Whether it takes these problems by the same implementation.
  static Call<Plans> Prepare(const AlignedSide& side, const Configuration& of) {
    Plans plans;
    if (of.parts.empty()) {
      if (auto added = AddPlan(side, of.problem, of.layout, plans); !added) return tl::unexpected(added.error());
    }
    for (const SharedPart& part : of.parts) {
      auto added = AddPlan(side, part.problem, of.layout, plans);
      if (added) continue;
      const bool is_lacking = added.error().kind == FailureKind::kUnsupported;
      if (is_lacking && part.problem.spec.op != of.problem.spec.op)
        added.error().message = fmt::format("{} does not take {}", side.Name(), part.problem.spec.Id());
      return tl::unexpected(added.error());
    }
    return plans;
  }

  static Call<void> AddPlan(const AlignedSide& side, const Problem& problem, const LayoutVariant& layout,
                            Plans& plans) {
    const std::string id = problem.spec.Id();
    if (plans.contains(id)) return {};
    const auto offers = side.device.session->Query(side.device.device_index, problem, layout);
    if (!offers) return tl::unexpected(offers.error());
    if (std::ranges::find(*offers, side.implementation, &ImplementationInfo::name) == offers->end()) {
      return tl::unexpected(WorkerFailure{FailureKind::kUnsupported, side.Name() + " does not take it"});
    }
    auto plan = PreparedPlan::Make(side.device, problem, side.implementation, layout);
    if (!plan) return tl::unexpected(plan.error());
    plans.emplace(id, *std::move(plan));
    return {};
  }

  // Other orders of each output's terms. Outputs of which none is summed, or is counted in integers, have none.
  Status FindOtherOrders() {
    others_.resize(whole_.size());
    bool sums = false;
    for (size_t output = 0; output < whole_.size(); ++output) {
      const auto is_summed = FindOrdersOf(output);
      if (!is_summed) return tl::unexpected(is_summed.error());
      sums = sums || *is_summed;
    }
    if (!sums) alignment_.unshown = "nothing is summed whose terms could come in another order";
    return {};
  }

  // An order counts if it has other bits somewhere, and is right everywhere. Returns whether there is any to try.
  Result<bool> FindOrdersOf(size_t output) {
    if (IsInt(whole_[output].dtype())) return false;
    size_t right = 0, wrong = 0;
    for (OtherOrder& order : ListOtherOrders(*data_.op, data_.problem, output, data_.inputs)) {
      if (!data_.op->CheckInputs(data_.problem, order.inputs)) continue;  // ends that do not ascend, for instance
      const auto outputs = Execute(sides_.back(), data_.problem, {}, order.inputs);
      if (!outputs) return Fail(ErrorCode::kUnavailable, outputs.error().message);
      const Tensor restored = order.restored((*outputs)[output]);
      const bool is_right = IsRight(output, restored);
      ++(is_right ? right : wrong);
      if (is_right && !SameBits(restored, whole_[output])) others_[output].push_back(std::move(order));
    }
    if (!others_[output].empty() || right + wrong == 0) return right + wrong > 0;
    const std::string named = whole_.size() > 1 ? " of " + data_.problem.outputs[output].name : "";
    unshown_.insert(output);
    if (right == 0) {
      alignment_.unshown = "with operands in another order its results" + named +
                           " are beyond their tolerances: they depend on places, or are wrong, which assay run tells";
    } else {
      alignment_.unshown = (wrong == 0 ? "terms in another order have the same bits in all elements"
                                       : "orders that leave its results right have the same bits in all elements") +
                           named;
    }
    return true;
  }

  // Whether terms in one of these orders have other bits in this configuration, in each output that is summed.
  Result<bool> Shows(const Configuration& of, const Plans& plans, const std::vector<Tensor>& expected) const {
    bool shows = unshown_.empty(), is_summed = false;
    for (size_t output = 0; output < expected.size() && shows; ++output) {
      if (others_[output].empty()) continue;
      is_summed = true;
      const auto found = ShowsIn(output, of, plans, expected[output]);
      if (!found) return tl::unexpected(found.error());
      shows = *found;
    }
    return shows && is_summed;
  }

  Result<bool> ShowsIn(size_t output, const Configuration& of, const Plans& plans, const Tensor& expected) const {
    for (const OtherOrder& order : others_[output]) {
      const auto outputs = Execute(plans, of, order.inputs);
      if (!outputs) return Fail(ErrorCode::kUnavailable, outputs.error().message);
      if (!SameBits(of.compared(order.restored((*outputs)[output]), output), expected)) return true;
    }
    return false;
  }

  bool IsRight(size_t number, const Tensor& output) const {
    const BoundModel bound = BoundOf(data_, sides_.back().contract, number);
    const ElementJudge judge(data_.outputs[number].golden, bound, sides_.back().contract, output.dtype());
    const std::vector<double> got = output.ToDoubles();
    for (int64_t i = 0; i < std::ssize(got); ++i) {
      if (!judge.Judge(i, got[static_cast<size_t>(i)]).accepted) return false;
    }
    return true;
  }

  bool AreRight(const Outputs& outputs) const {
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!IsRight(k, outputs[k])) return false;
    }
    return true;
  }

  // Whether the exact sum of what parts made is a result of the case. Each part may be off by its own rounding to the
  // output's type besides.
  bool IsSumOf(const std::vector<Outputs>& parts) const {
    const DType type = parts.front().front().dtype();
    const BoundModel bound = BoundOf(data_, sides_.back().contract, 0);
    const ElementJudge judge(data_.outputs[0].golden, bound, sides_.back().contract, data_.problem.outputs[0].dtype);
    std::vector<double> sums(parts.front().front().ToDoubles().size()), roundings(sums.size());
    for (const Outputs& part : parts) {
      const std::vector<double> values = part.front().ToDoubles();
      for (size_t i = 0; i < sums.size(); ++i) {
        sums[i] += values[i];
        roundings[i] += IsFloat(type) || IsComplex(type) ? UlpAt(FormatOf(type), values[i]) / 2 : 0;
      }
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      const Judgement judged = judge.Judge(static_cast<int64_t>(i), sums[i]);
      const bool is_near = judged.finite && std::fabs(judged.error) <= judged.Tolerance() + roundings[i];
      if (!judged.accepted && !is_near) return false;
    }
    return true;
  }

  // `none`: why there is no such configuration.
  Status TryShared(const std::string& name, const std::vector<Configuration>& all, const std::string& none) {
    if (all.empty()) alignment_.configurations.push_back({.name = name, .refused = none});
    for (const Configuration& of : all) {
      if (auto tried = Try(of); !tried) return tried;
    }
    return {};
  }

  Status Try(const Configuration& of) {
    AlignedConfiguration tried{.name = of.name, .refused = of.refused};
    if (!of.refused.empty()) {
      alignment_.configurations.push_back(std::move(tried));
      return {};
    }
    std::vector<Plans> plans;
    for (const AlignedSide& side : sides_) {
      auto plan = Prepare(side, of);
      if (!plan && plan.error().kind != FailureKind::kUnsupported) {
        return Fail(ErrorCode::kUnavailable, fmt::format("{}, {}: {}", side.Name(), of.name, plan.error().message));
      }
      if (!plan) {
        tried.refused = plan.error().message;
        alignment_.configurations.push_back(std::move(tried));
        return {};
      }
      plans.push_back(*std::move(plan));
    }
    if (of.is_sum) {
      const auto parts = ExecuteParts(plans.back(), of, data_.inputs);
      if (!parts) return Fail(ErrorCode::kUnavailable, parts.error().message);
      if (!IsSumOf(*parts)) {
        tried.refused = "the sum of its parts is no result of the case, as with a bias, which each part would add";
        alignment_.configurations.push_back(std::move(tried));
        return {};
      }
    }
    std::vector<Tensor> expected;
    if (plans.size() == 2) {
      auto outputs = Execute(plans[0], of, data_.inputs);
      if (!outputs) return Fail(ErrorCode::kUnavailable, outputs.error().message);
      for (size_t k = 0; k < outputs->size(); ++k) expected.push_back(of.compared((*outputs)[k], k));
    } else {
      for (size_t k = 0; k < whole_.size(); ++k) expected.push_back(of.expected(whole_[k], k));
    }
    for (int call = 0; call < of.calls; ++call) {
      const auto got = Execute(plans.back(), of, data_.inputs);
      if (!got) return Fail(ErrorCode::kUnavailable, got.error().message);
      for (size_t k = 0; k < expected.size(); ++k) Compare(of, expected[k], of.compared((*got)[k], k), k, tried);
      if (!of.parts.empty()) tried.is_within = AreRight(*got);
    }
    const auto shows = Shows(of, plans.back(), expected);
    if (!shows) return tl::unexpected(shows.error());
    tried.shows = *shows;
    alignment_.configurations.push_back(std::move(tried));
    return {};
  }

  void Compare(const Configuration& of, const Tensor& expected, const Tensor& got, size_t output,
               AlignedConfiguration& tried) const {
    tried.elements += got.size();
    if (got.bytes() == 0 || std::memcmp(expected.data(), got.data(), got.bytes()) == 0) return;
    const Tensor places = of.expected(places_[output], output), tolerances = of.expected(tolerances_[output], output);
    const std::vector<double> ours = expected.ToDoubles(), theirs = got.ToDoubles();
    const auto parts = std::ssize(theirs) / got.size();
    for (int64_t i = 0; i < got.size(); ++i) {
      if (std::ranges::equal(ElementOf(expected, i), ElementOf(got, i))) continue;
      double distance = 0;
      auto farthest = static_cast<size_t>(i * parts);
      for (int64_t part = i * parts; part < (i + 1) * parts; ++part) {
        const double apart = DistanceOf(ours[static_cast<size_t>(part)], theirs[static_cast<size_t>(part)]);
        if (apart > distance) distance = apart, farthest = static_cast<size_t>(part);
      }
      const double tolerance = tolerances.As<double>()[static_cast<size_t>(i)];
      const double share = distance == 0 ? 0 : tolerance > 0 ? distance / tolerance : kInfinity;
      tried.most_tolerances = std::max(tried.most_tolerances, share);
      if (tried.differing++ > 0) continue;
      const Operand& operand = data_.problem.outputs[output];
      tried.place = operand.name + IndexText(operand.shape, places.As<int64_t>()[static_cast<size_t>(i)]);
      tried.expected = ours[farthest], tried.got = theirs[farthest];
      tried.tolerances = share;
    }
  }

  const PreparedCase& data_;
  std::span<const AlignedSide> sides_;
  std::vector<Tensor> tolerances_, places_;      // of each output
  Outputs whole_;                                // of the first side
  std::vector<std::vector<OtherOrder>> others_;  // of each output
  std::set<size_t> unshown_;                     // outputs that are summed, and of which no other order shows
  Alignment alignment_;
};

}  // namespace

size_t Alignment::CountCompared() const {
  return static_cast<size_t>(std::ranges::count_if(configurations, [](const auto& c) { return c.refused.empty(); }));
}

size_t Alignment::CountDiffering() const {
  return static_cast<size_t>(std::ranges::count_if(configurations, [](const auto& c) { return c.differing > 0; }));
}

size_t Alignment::CountUnshown() const {
  return static_cast<size_t>(std::ranges::count_if(
      configurations, [](const auto& c) { return c.refused.empty() && c.differing == 0 && !c.shows; }));
}

bool Alignment::IsCertified() const {
  return CountCompared() > 0 && CountDiffering() == 0 && CountUnshown() == 0;
}

Result<Alignment> Align(const PreparedCase& data, std::span<const AlignedSide> sides, const SharedNumbers& shared) {
  return Aligner(data, sides).Run(shared);
}

}  // namespace assay
