// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/explained_run.h"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "harness/core/base/stopwatch.h"

namespace assay {
namespace {

constexpr double kSecondsOfOne = 2;  // more than a small case needs

class RunExplainer {
 public:
  std::string Explain(const PreparedCase& data, const Attempt& attempt) {
    if (!IsSmall(data.problem) || !attempt.findings || attempt.outputs.empty() || !IsWanted(data, attempt)) return "";
    const Stopwatch time;
    std::string causes;
    try {
      causes = DescribeCauses(data.problem, FindCausesOf(data, attempt, kSecondsOfOne),
                              [](const CaseChange& change) { return change.key + "=" + change.value; });
    } catch (const std::exception& fault) {  // a formula that cannot be changed is no fault of the result's
      causes = fmt::format("; its causes could not be searched: {}", fault.what());
    }
    const std::scoped_lock lock(mutex_);
    seconds_ += time.Seconds();
    return causes;
  }

 private:
  bool IsWanted(const PreparedCase& data, const Attempt& attempt) {
    const std::scoped_lock lock(mutex_);
    return seconds_ < kMostSeconds && counts_[{data.problem.spec.op, attempt.implementation}]++ < kMostExplained;
  }

  std::mutex mutex_;
  double seconds_ = 0;  // that searches have taken
  std::map<std::pair<std::string, std::string>, int> counts_;
};

}  // namespace

std::vector<Cause> FindCausesOf(const PreparedCase& data, const Attempt& attempt, double seconds) {
  const size_t output = attempt.findings->worst;
  WrongResult wrong{.op = *data.op,
                    .problem = data.problem,
                    .inputs = data.inputs,
                    .got = attempt.outputs,
                    .contract = attempt.contract,
                    .golden = data.outputs[output].golden,
                    .tier = data.outputs[output].golden.tier,
                    .output = output};
  const std::vector<ErrorMetrics>& runs = attempt.findings->outputs[output].evidence.runs;
  if (!runs.empty()) {
    for (const WorstElement& worst : runs[0].worst) wrong.elements.push_back(worst.index);
  }
  return FindCauses(wrong, seconds);
}

std::function<std::string(const PreparedCase&, const Attempt&)> MakeRunExplainer() {
  return [explainer = std::make_shared<RunExplainer>()](const PreparedCase& data, const Attempt& attempt) {
    return explainer->Explain(data, attempt);
  };
}

}  // namespace assay
