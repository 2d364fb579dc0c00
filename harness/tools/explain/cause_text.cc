// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "harness/tools/explain/cause.h"

namespace assay {

ResultFit MeasureFit(const ElementJudge& judge, const ErrorMetrics& metrics, const Tensor& got) {
  const std::vector<double> values = got.ToDoubles();
  ResultFit fit{
      .values = std::ssize(values), .wrong = metrics.violations + metrics.nonfinite_mismatch, .rms = metrics.rms_err};
  for (int64_t i = 0; i < fit.values; ++i) {
    const double rounded = judge.Rounded(i), value = values[static_cast<size_t>(i)];
    fit.equal += value == rounded || (std::isnan(value) && std::isnan(rounded)) ? 1 : 0;
  }
  return fit;
}

std::string DescribeCause(const Problem& problem, const Cause& cause, const AttributeText& attribute) {
  const auto describe = [&](const CaseChange& change) {
    return change.key.empty() ? DescribeChange(problem, change) : attribute(change);
  };
  if (cause.change.first != nullptr)
    return fmt::format("two mistakes: {}, and {}", describe(*cause.change.first), describe(cause.change));
  const std::string what = describe(cause.change);
  return cause.where_wrong ? what + " where it is wrong" : what;
}

std::string DescribeCauses(const Problem& problem, const std::vector<Cause>& causes, const AttributeText& attribute) {
  std::vector<std::string> texts;
  for (const Cause& cause : causes) texts.push_back(DescribeCause(problem, cause, attribute));
  return texts.empty() ? "" : fmt::format("; it is the right result of {}", fmt::join(texts, ", or of "));
}

bool IsSmall(const Problem& problem) {
  constexpr double kFlops = 1e7, kBytes = 0x1p19;
  return problem.flops < kFlops && problem.bytes < kBytes;
}

}  // namespace assay
