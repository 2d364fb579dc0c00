// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/record_case.h"

#include <fmt/format.h>

namespace assay {
namespace {

// The attributes of the id: "m=1,n=4096,k=4096".
std::string ShapeOf(const CaseSpec& spec) {
  std::string text;
  for (const auto& [key, value] : spec.attrs) text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}

}  // namespace

void SetCase(Record& r, const CaseSpec& spec) {
  r.case_id = spec.Id();
  r.op = spec.op;
  r.dtype = DTypeListText(spec.dtypes);
  r.shape = ShapeOf(spec);
  r.fill = spec.fill;
  r.seed = spec.seed;
}

void SetVerdict(Record& record, Verdict verdict, ResultClass result_class, const std::string& reason) {
  record.verdict = record.outcome = Name(verdict);
  record.result_class = Name(result_class);
  record.reason = reason;
}

}  // namespace assay
