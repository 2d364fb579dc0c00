// SPDX-License-Identifier: Apache-2.0
// A case and what its results are judged by, shared by all devices: the bounds and twins of contracts, other data, what
// devices offer. Each is made when it is first asked for.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "harness/core/base/lazy.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/offers.h"
#include "harness/engine/trial/attempt.h"
#include "harness/judge/hypotheses/weaker_arithmetic.h"
#include "harness/judge/pooled/effects.h"
#include "harness/plan/suite.h"

namespace assay {

// May be asked from any thread.
class TrialContext {
 public:
  // Both outlive this.
  TrialContext(const PlannedCase& planned, const PreparedCase& data);

  const PlannedCase& planned() const { return planned_; }
  const PreparedCase& data() const { return data_; }
  const Problem& problem() const { return data_.executed(); }
  const Contract& required() const { return required_; }
  const std::string& required_text() const { return required_text_; }
  Offers& offers() { return offers_; }

  const ContractData& DataFor(const Contract& contract);

  // Returns the data that the attempt was judged by; null if no contract could be read.
  const ContractData* DataOf(const Attempt& attempt) const;

  // Returns the inputs of the output. Precondition: DataOf(attempt).
  const std::vector<Tensor>& InputsOf(const Attempt& attempt, const KeptOutputSet& kept) const;

  // Returns the same problem with other data, so that a stale result does not pass for a new one; null if there is
  // none.
  const PreparedCase* SecondSet();
  const PreparedCase& KnownSecondSet() const;  // precondition: SecondSet() gave it

  // Normal deviates for a small case without plain data. Precondition: ContractData::random_bounds is not empty.
  const PreparedCase& RandomSet() const;

  // Returns the effects to test in the results of an output besides errors; none for large cases or data that is not
  // random.
  const std::vector<Effect>& EffectsOf(size_t output);

  // Names what is wrong with the outputs of the case's own inputs; "" if they hold. Makes them canonical.
  OutputProblem FindFirstProblemOf(const ContractData& by, const Contract& contract,
                                   std::vector<Tensor>& outputs) const;

  // Names what is wrong with the outputs of the second set, which is ContractData::FindSharedTwin() or else
  // SecondSet(); "" if they hold. Precondition: the set is not the case's own data.
  OutputProblem FindSecondSetProblem(const ContractData& by, const Contract& contract,
                                     std::vector<Tensor> outputs) const;

  // Finds the weaker arithmetic that explains the failing output `number` of RandomSet() and `own`, that of the case's
  // data.
  std::optional<WeakerArithmetic> ExplainRandomSet(const Contract& contract, size_t number, const Tensor& output,
                                                   const Tensor& own) const;

  // Finds the weaker arithmetic that explains the failing output `number` and those on other data: the twins', in
  // order, then the second set's.
  std::optional<WeakerArithmetic> ExplainOutput(const ContractData& by, const Contract& contract, size_t number,
                                                const Tensor& output, const std::vector<std::vector<Tensor>>& others);

 private:
  const PlannedCase& planned_;
  const PreparedCase& data_;
  std::string required_text_;
  Contract required_;
  Offers offers_;
  mutable std::mutex contracts_mutex_;                             // guards the map, not what is in it
  std::map<std::string, Lazy<ContractData>> contracts_;            // by canonical text
  std::vector<BoundModel> RandomBounds(const Contract& contract);  // as ContractData says

  Lazy<Result<PreparedCase>> second_set_;
  Lazy<PreparedCase> random_set_;
  Lazy<std::vector<std::vector<Effect>>> effects_;  // by output
  std::mutex hypotheses_mutex_;
  std::map<size_t, HypothesisGoldens> hypothesis_goldens_;  // by output
};

}  // namespace assay
