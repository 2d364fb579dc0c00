// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>

#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/executions.h"
#include "harness/tools/fingerprint/prediction.h"

namespace assay {
namespace {

constexpr double kMostPredictedTerms = 0x1p24;  // of a result: some seconds

std::optional<Tensor> PredictOutput(const Passport& passport, const PreparedCase& data) {
  const Operand& output = data.problem.outputs.front();
  const auto contract = ParseDeclaration(passport.contract);
  const auto elements = NumElements(output.shape);
  const int terms = passport.order->terms;
  if (!contract || data.problem.outputs.size() > 1 || static_cast<double>(elements) * terms > kMostPredictedTerms) {
    return std::nullopt;
  }
  // Products of two f64 are not exact, as a prediction takes them.
  if (passport.has_products && output.dtype == DType::kF64) return std::nullopt;
  std::vector<double> values;
  for (int64_t element = 0; element < elements; ++element) {
    const auto sums = data.op->SummedTerms(data.problem, 0, data.inputs, *contract, element);
    if (sums.size() != 1 || std::ssize(sums.front()) != terms) return std::nullopt;
    ProbeSum of;
    for (const double term : sums.front()) of.push_back({.a = term});
    values.push_back(PredictSum(passport, of, output.dtype));
  }
  Tensor predicted(output.dtype, output.shape);
  predicted.SetDoubles(values);
  return predicted;
}

}  // namespace

void ExplainResults(const std::vector<RecordedResult>& results, Passport& passport) {
  if (!passport.predicted || !passport.predicted->tells_all() || !passport.repeats) return;
  for (const RecordedResult& result : results) {
    const auto spec = ParseId(result.case_id);
    const auto data = spec ? PrepareInputs(*spec) : tl::unexpected(spec.error());
    if (!data || data->input_hash != result.input_hash) continue;
    const auto predicted = PredictOutput(passport, *data);
    if (!predicted) continue;
    (HashOf(*predicted) == result.output_hash ? passport.reordered : passport.unexplained).push_back(result.case_id);
  }
}

}  // namespace assay
