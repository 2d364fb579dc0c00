// SPDX-License-Identifier: Apache-2.0
// Samples the outputs that are judged. None whose bits are known to be right is kept. Each other one of a content is
// equally likely, and one fault of each content is kept.
#pragma once

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "harness/engine/timing/operand_sets.h"
#include "harness/engine/timing/timing.h"

namespace assay {

class KeptOutputs {
 public:
  // Keeps at most `most` outputs of each content, and again of those in the case's own order. Both references outlive
  // this.
  KeptOutputs(const TimedTrial& timed, const OperandSets& sets, size_t most);

  // Adds the output of a set as it was downloaded.
  void Add(size_t set, Execution execution, std::mt19937_64& random);
  // Adds an output that is judged unless it is known to be right.
  void AddUnsampled(size_t set, Execution execution);
  // Downloads the inputs of these sets and keeps any side effect found in them.
  Call<void> AddInputs(Session& session, uint64_t plan, std::span<const size_t> sets);

  // Returns what was kept, outputs with side effects first. May be called once.
  std::vector<TimedOutput> Take();

 private:
  struct Kind {
    size_t came = 0;
    std::vector<TimedOutput> kept;
  };
  void AddFault(TimedOutput output);
  // Returns nothing if the output is known to be right or has a side effect, which is kept as a fault.
  std::optional<TimedOutput> Unknown(size_t set, Execution execution);

  const TimedTrial& case_;
  const OperandSets& sets_;
  size_t most_;
  std::vector<Kind> kinds_;  // by content, and for each as the case has it or not
  std::vector<TimedOutput> faults_, sure_;
};

}  // namespace assay
