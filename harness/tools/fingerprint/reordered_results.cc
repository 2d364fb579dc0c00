// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/model/record.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/results/durable_lines.h"
#include "harness/engine/results/reordered_mark.h"
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
  if (!passport.formula.empty()) return;            // rows of a norm are no sums
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
  using Key = std::array<std::string, 4>;
  const auto key_of = [](const Json& json, const std::string& case_id) {
    const auto text = [&](const char* key) { return json.value(key, ""); };
    return Key{text("backend"), text("device"), text("implementation"), case_id};
  };
  std::map<Key, bool> known;
  for (const Json& passport : passports) {
    for (const bool reordered : {false, true}) {
      for (const Json& id : passport.value(reordered ? "reordered" : "unexplained", Json::array()))
        known[key_of(passport, id.get<std::string>())] = reordered;
    }
  }
  const std::filesystem::path file = run / "results.jsonl";
  // A run that appends to the file would go on in one that is no longer there.
  const auto lock = DurableLines::Open(file, DurableLines::Mode::kContinue);
  if (!lock) return tl::unexpected(lock.error());
  const auto text = ReadWholeFile(file.string());
  if (!text) return tl::unexpected(text.error());
  std::string marked;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const auto record = FromJsonLine(std::string(line));
    const auto found = record
                           ? known.find(Key{record->backend, record->device, record->implementation, record->case_id})
                           : known.end();
    marked += found == known.end() ? std::string(line) : MarkRecordLine(line, found->second);
    if (end < rest.size()) marked += '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return WriteFileAtomically(file, {{marked.data(), marked.size()}});
}

}  // namespace assay
