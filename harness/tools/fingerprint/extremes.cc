// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/engine/device/executions.h"
#include "harness/tools/fingerprint/slice_passport.h"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The extreme of a row of ordinary numbers, all on the losing side of zero, with some at its ends.
class RowProbe {
 public:
  RowProbe(const Problem& problem, const PreparedPlan& plan) : problem_(problem), plan_(plan) {}

  Result<double> Reduce(double first, double last, bool fill_with_first = false) const {
    const Shape& shape = problem_.inputs[0].shape;
    const double usual = problem_.Text("kind") == "max" ? -1 : 1;
    std::vector<double> values(static_cast<size_t>(NumElements(shape)), fill_with_first ? first : usual);
    values[0] = first, values[static_cast<size_t>(shape[1]) - 1] = last;
    std::vector<Tensor> inputs;
    inputs.emplace_back(problem_.inputs[0].dtype, shape);
    inputs[0].SetDoubles(values);
    const auto done = plan_.Execute(inputs, Prefill::kNanPayload);
    if (!done) return Fail(ErrorCode::kUnavailable, done.error().message);
    return done->outputs.front().ToDoubles()[0];
  }

 private:
  const Problem& problem_;
  const PreparedPlan& plan_;
};

std::string DescribeZeros(double negative_first, double positive_first) {
  if (negative_first != 0 || positive_first != 0) return "neither of them";
  const bool a = std::signbit(negative_first), b = std::signbit(positive_first);
  if (a == b) return a ? "-0 in either order" : "+0 in either order";
  return a ? "the first one" : "the last one";
}

std::string DescribeNan(double nan_first, double nan_last) {
  const bool first = std::isnan(nan_first), last = std::isnan(nan_last);
  if (first == last) return first ? kNanWins : kNanLoses;
  return first ? "the result is NaN if it comes first, and not if last"
               : "the result is NaN if it comes last, and not if first";
}

}  // namespace

bool TakesExtremes(const Problem& problem) {
  if (problem.spec.op != "reduce" || !IsFloat(problem.inputs[0].dtype)) return false;
  const Shape& shape = problem.inputs[0].shape;
  const std::string kind = problem.Text("kind");
  return (kind == "max" || kind == "min") && shape.size() == 2 && shape[1] >= 2 &&
         problem.List("axes") == std::vector<int64_t>{1};
}

Result<Extremes> FindExtremes(const Problem& problem, const PreparedPlan& plan) {
  const RowProbe probe(problem, plan);
  const double usual = problem.Text("kind") == "max" ? -1 : 1;
  const Result<double> results[] = {probe.Reduce(kNan, usual), probe.Reduce(usual, kNan), probe.Reduce(-0.0, 0.0),
                                    probe.Reduce(0.0, -0.0), probe.Reduce(kNan, kNan, true)};
  for (const Result<double>& result : results) {
    if (!result) return tl::unexpected(result.error());
  }
  const double only = *results[4];
  return Extremes{.nan = DescribeNan(*results[0], *results[1]),
                  .zeros = DescribeZeros(*results[2], *results[3]),
                  .only_nan = std::isnan(only) ? "NaN" : fmt::format("{:g}", only)};
}

Json ToJson(const Extremes& extremes) {
  return {{"nan", extremes.nan}, {"zeros", extremes.zeros}, {"only_nan", extremes.only_nan}};
}

std::string TextOf(const Extremes& extremes) {
  return fmt::format("  {:<15} {}; of NaN alone it is {}\n  {:<15} of -0 and +0 {}\n", "NaN", extremes.nan,
                     extremes.only_nan, "zeros", extremes.zeros);
}

}  // namespace assay
