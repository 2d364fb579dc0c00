// SPDX-License-Identifier: Apache-2.0
// What is to be judged of the many outputs that come back: none whose bits are known to be right, of the others some of
// each content, each as likely, and every kind of side effect once.
#pragma once

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "harness/run/timing/operand_sets.h"
#include "harness/run/timing/timing.h"

namespace assay {

class KeptOutputs {
 public:
  // `most` of each content, and as many of it as the case has it. Both outlive this.
  KeptOutputs(const TimedCase& timed, const OperandSets& sets, size_t most);

  // The output of a set, as it came back.
  void Add(size_t set, Execution execution, std::mt19937_64& random);
  // The same of one that stays for sure.
  void AddForSure(size_t set, Execution execution);
  // What became of the inputs of these sets.
  Call<void> AddInputs(Session& session, uint64_t plan, std::span<const size_t> sets);

  // Those with side effects come first. Precondition: not taken yet.
  std::vector<TimedOutput> Take();

 private:
  struct Kind {
    size_t came = 0;
    std::vector<TimedOutput> kept;
  };
  void AddFault(TimedOutput output);
  // Nothing where it is known to be right, or is a fault, which is noted.
  std::optional<TimedOutput> Unknown(size_t set, Execution execution);

  const TimedCase& case_;
  const OperandSets& sets_;
  size_t most_;
  std::vector<Kind> kinds_;  // by content, and for each as the case has it or not
  std::vector<TimedOutput> faults_, sure_;
};

}  // namespace assay
