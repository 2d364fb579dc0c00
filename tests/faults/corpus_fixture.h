// SPDX-License-Identifier: Apache-2.0
// The corpus in a real worker, judged by the very flow of a run.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/engine/trial/trial_runner.h"
#include "harness/tools/power/corpus_part.h"

namespace assay {

// Result of one implementation on one case: judged, as `assay run` would.
struct Judged {
  std::string implementation;
  Verdict verdict = Verdict::kError;
  std::string reason;
};

// The names of an operator's implementations in a part that a list beside the plugin names: held-back or fresh.
const std::set<std::string>& NamesOf(CorpusPart part, const std::string& op);

class Corpus {
 public:
  Corpus();  // the plugin that the test program is built with
  explicit Corpus(const std::string& plugin);

  // Implementations that the part of the corpus offers for a case and whose names begin with `prefix`.
  std::vector<ImplementationInfo> Offered(const Problem& problem, const std::string& prefix,
                                          CorpusPart part = CorpusPart::kTuned);
  // Every tuned implementation whose name begins with `prefix`, or each step-th of them, from one on that differs
  // between cases. The test fails when the case cannot be read.
  std::vector<Judged> Judge(const std::string& case_id, const std::string& prefix, size_t step = 1);
  // All outputs of one execution, or the first; the test fails when there is none.
  std::vector<Tensor> RunAll(const Problem& problem, const std::vector<Tensor>& inputs,
                             const std::string& implementation);
  Tensor Run(const Problem& problem, const std::vector<Tensor>& inputs, const std::string& implementation);
  // The outputs of several executions of one plan, the last one with `other` inputs.
  std::vector<Tensor> RunOften(const PreparedCase& data, const std::string& implementation, int times,
                               const std::vector<Tensor>& other);

  // Inputs and golden values of a case; the test fails when the id is wrong.
  static PreparedCase Prepare(const std::string& case_id);

 private:
  Device column_;
};

}  // namespace assay
