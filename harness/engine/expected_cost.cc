// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/expected_cost.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace assay {
namespace {

// The recorded machine counts as much as these seconds of the run, which tell little: workers start, kernels compile.
constexpr double kFirstSeconds = 2;

// A case of so few operations costs what calls cost, whatever it computes.
constexpr double kSmallFlops = 1e5;

constexpr auto kSeconds = {&RecordedCost::small_s, &RecordedCost::other_s, &RecordedCost::gflop_s,
                           &RecordedCost::gbyte_s, &RecordedCost::timing_s};

void Add(const RecordedCost& cost, RecordedCost& to) {
  for (const auto seconds : kSeconds) to.*seconds += cost.*seconds;
}

double SecondsOf(const PlannedCase& planned, const RecordedCost& cost) {
  const SharedCase bound = planned.Bound();
  const double flops = bound->problem.flops, bytes = bound->problem.bytes;
  if (!planned.timed && flops <= kSmallFlops) return cost.small_s;
  const double seconds = cost.other_s + 1e-9 * (flops * cost.gflop_s + bytes * cost.gbyte_s);
  return seconds > 0 ? seconds : cost.small_s;  // where none but small cases are recorded
}

// The mean of the operator's recorded backends where this one is not recorded, and that of all operators likewise.
RecordedCost FindCost(std::string_view op, std::string_view backend) {
  const auto rows = RecordedCosts();
  const auto mean = [&](auto fits) {
    RecordedCost sum{};
    double count = 0;
    for (const RecordedCost& row : rows) {
      if (!fits(row)) continue;
      Add(row, sum);
      ++count;
    }
    for (const auto seconds : kSeconds) sum.*seconds /= std::max(1.0, count);
    return count > 0 ? std::optional(sum) : std::nullopt;
  };
  const auto is_op = [&](const RecordedCost& row) { return row.op == op; };
  if (const auto found = mean([&](const RecordedCost& row) { return is_op(row) && row.backend == backend; })) {
    return *found;
  }
  if (const auto found = mean(is_op); found || op == kOtherOperators) return found.value_or(RecordedCost{});
  return FindCost(kOtherOperators, backend);
}

}  // namespace

ExpectedCost::ExpectedCost(std::span<const PlannedCase> cases, std::span<const std::string> backends, bool timing,
                           int rounds)
    : rounds_(rounds) {
  std::map<std::string_view, RecordedCost> costs;  // of an operator on all devices
  for (const PlannedCase& planned : cases) {
    const auto [cost, is_new] = costs.try_emplace(planned.spec.op);
    for (size_t i = 0; is_new && i < backends.size(); ++i) Add(FindCost(planned.spec.op, backends[i]), cost->second);
    const RecordedCost& all = cost->second;
    const bool timed = timing && planned.timed;
    const double timing_s = timed ? all.timing_s : 0;
    until_.push_back(until_.back() + SecondsOf(planned, all));
    further_s_ += timing_s, timed_ += timed ? 1 : 0;
  }
}

double ExpectedCost::Until(size_t steps) const {
  const size_t cases = until_.size() - 1;
  if (steps <= cases || cases == 0) return until_[std::min(steps, cases)];
  const size_t round = (steps - 1) / cases, beside = steps - round * cases;
  const double share = timed_ == 0 ? 1 : std::min(1.0, static_cast<double>(beside) / static_cast<double>(timed_));
  return until_.back() + further_s_ * (static_cast<double>(round) - 1 + share);
}

double ExpectedCost::Total() const {
  return until_.back() + further_s_ * (rounds_ - 1);
}

double EstimateSecondsLeft(double elapsed_s, double behind_s, double ahead_s) {
  return ahead_s * (elapsed_s + kFirstSeconds) / (behind_s + kFirstSeconds);
}

}  // namespace assay
