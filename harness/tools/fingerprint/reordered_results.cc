// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
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
  if (passport.predicted->guess.narrows()) return;  // terms are products already
  for (const RecordedResult& result : results) {
    const auto spec = ParseId(result.case_id);
    const auto data = spec ? PrepareInputs(*spec) : tl::unexpected(spec.error());
    if (!data || data->input_hash != result.input_hash) continue;
    const auto predicted = PredictOutput(passport, *data);
    if (!predicted) continue;
    (HashOf(*predicted) == result.output_hash ? passport.reordered : passport.unexplained).push_back(result.case_id);
  }
}

Status MarkReordered(const std::filesystem::path& run, const Json& passports) {
  using Key = std::array<std::string, 3>;
  std::map<Key, bool> known;
  for (const Json& passport : passports) {
    for (const bool reordered : {false, true}) {
      for (const Json& id : passport.value(reordered ? "reordered" : "unexplained", Json::array()))
        known[{passport.value("backend", ""), passport.value("implementation", ""), id.get<std::string>()}] = reordered;
    }
  }
  const std::filesystem::path file = run / "results.jsonl";
  const auto text = ReadWholeFile(file.string());
  if (!text) return tl::unexpected(text.error());
  std::string marked;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    Json record = ParseJson(rest.substr(0, end));
    const auto found =
        record.is_object()
            ? known.find({record.value("backend", ""), record.value("implementation", ""), record.value("case_id", "")})
            : known.end();
    if (found == known.end()) {
      marked += rest.substr(0, end + 1);
    } else {
      record["reordered"] = found->second;
      marked += DumpJson(record) + "\n";
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return WriteFileAtomically(file, {{marked.data(), marked.size()}});
}

}  // namespace assay
