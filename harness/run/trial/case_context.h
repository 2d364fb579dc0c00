// SPDX-License-Identifier: Apache-2.0
// A case and what its results are judged by, shared by all devices: the bounds and twins of contracts, other data, what
// devices offer. Each is made when it is first asked for.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "harness/base/lazy.h"
#include "harness/cases/case_data.h"
#include "harness/judge/ladder/lower_class.h"
#include "harness/judge/pooled/effects.h"
#include "harness/plan/suite.h"
#include "harness/run/device/offers.h"
#include "harness/run/trial/attempt.h"

namespace assay {

// May be asked from any thread.
class CaseContext {
 public:
  // Both outlive this.
  CaseContext(const PlannedCase& planned, const CaseData& data);

  const PlannedCase& planned() const { return planned_; }
  const CaseData& data() const { return data_; }
  const Problem& problem() const { return data_.problem; }
  const Contract& required() const { return required_; }
  const std::string& required_text() const { return required_text_; }
  Offers& offers() { return offers_; }

  const ContractData& DataFor(const Contract& contract);

  // What the attempt was judged by. Null when no contract could be read.
  const ContractData* DataOf(const Attempt& attempt) const;

  // What the output was made from. Precondition: DataOf(attempt).
  const std::vector<Tensor>& InputsOf(const Attempt& attempt, const KeptOutputSet& kept) const;

  // The same problem with other data, so that an old result does not pass for a new one; null where there is none.
  const CaseData* SecondSet();
  const CaseData& KnownSecondSet() const;  // precondition: SecondSet() gave it

  // Normal deviates for a small case without plain data. Precondition: ContractData::random_bounds is not empty.
  const CaseData& RandomSet() const;

  // What the results of an output are asked for beside errors; none of a large case, or of data that are not random.
  const std::vector<Effect>& EffectsOf(size_t output);

  // "" when the outputs of the case's own inputs hold, which are canonical afterwards.
  OutputProblem FirstProblemOf(const ContractData& by, const Contract& contract, std::vector<Tensor>& outputs) const;

  // "" when the outputs of the second set hold: ContractData::TwinOfAll(), or SecondSet() without one. Precondition: it
  // is not the case's own data.
  OutputProblem ProblemOfSecondSet(const ContractData& by, const Contract& contract, std::vector<Tensor> outputs) const;

  // Which weaker arithmetic explains output `number` of RandomSet() that fails, and `own` of the case's own data.
  std::optional<LowerClass> LowerClassOfRandomSet(const Contract& contract, size_t number, const Tensor& output,
                                                  const Tensor& own) const;

  // Which weaker arithmetic explains output `number` that fails, and those on other data: the twins', in their order,
  // and then the second set's.
  std::optional<LowerClass> LowerClassOf(const ContractData& by, const Contract& contract, size_t number,
                                         const Tensor& output, const std::vector<std::vector<Tensor>>& others);

 private:
  const PlannedCase& planned_;
  const CaseData& data_;
  std::string required_text_;
  Contract required_;
  Offers offers_;
  mutable std::mutex contracts_mutex_;                             // guards the map, not what is in it
  std::map<std::string, Lazy<ContractData>> contracts_;            // by canonical text
  std::vector<BoundModel> RandomBounds(const Contract& contract);  // as ContractData says

  Lazy<Result<CaseData>> second_set_;
  Lazy<CaseData> random_set_;
  Lazy<std::vector<std::vector<Effect>>> effects_;  // by output
  std::mutex ladder_mutex_;
  std::map<size_t, LadderGoldens> ladders_;  // by output
};

}  // namespace assay
