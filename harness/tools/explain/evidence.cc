// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/evidence.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

Json FitJson(const ResultFit& fit) {
  return {{"values", fit.values},
          {"wrong", fit.wrong},
          {"equal_bits", fit.equal},
          {"rms_err", std::isfinite(fit.rms) ? Json(fit.rms) : Json()}};
}

}  // namespace

std::string EvidenceText(const std::string& what, const Cause& cause, const ResultFit& meant) {
  const ResultFit& now = cause.fit;
  return fmt::format(
      "cause: the right result of {}\n"
      "  {:<24} {:>14} {:>14}\n"
      "  {:<24} {:>14} {:>14}\n"
      "  {:<24} {:>14} {:>14}\n"
      "  {:<22} {:>14.3g} {:>14.3g}\n",
      what, "evidence", "as meant", "by this cause", "values within bounds", meant.values - meant.wrong,
      now.values - now.wrong, "bits of the golden value", meant.equal, now.equal, "rms error", meant.rms, now.rms);
}

Json EvidenceJson(const std::string& what, const Cause& cause, const ResultFit& meant) {
  return {{"what", what},
          {"attribute", cause.change.key.empty() ? Json() : Json(cause.change.key + "=" + cause.change.value)},
          {"as_meant", FitJson(meant)},
          {"by_cause", FitJson(cause.fit)}};
}

}  // namespace assay
