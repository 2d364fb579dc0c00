// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/timing/kept_outputs.h"

#include <algorithm>
#include <iterator>

#include "harness/engine/device/executions.h"

namespace assay {

KeptOutputs::KeptOutputs(const TimedTrial& timed, const OperandSets& sets, size_t most)
    : case_(timed), sets_(sets), most_(most), kinds_(2 * timed.contents.size()) {}

// One of a content says enough.
void KeptOutputs::AddFault(TimedOutput output) {
  const bool known = std::ranges::find(faults_, output.content, &TimedOutput::content) != faults_.end();
  if (!known) faults_.push_back(std::move(output));
}

std::optional<TimedOutput> KeptOutputs::Unknown(size_t set, Execution execution) {
  const size_t content = sets_.ContentOf(set);
  TimedOutput output{content, sets_.IsAsInCase(set), std::move(execution)};
  if (!output.own_order) output.execution.outputs = sets_.Restored(set, output.execution.outputs);
  if (!SideEffect(output.execution).empty()) {
    AddFault(std::move(output));
    return std::nullopt;
  }
  if (HashOf(output.execution.outputs) == case_.known[content]) return std::nullopt;
  return output;
}

void KeptOutputs::Add(size_t set, Execution execution, std::mt19937_64& random) {
  std::optional<TimedOutput> output = Unknown(set, std::move(execution));
  if (!output) return;
  Kind& kind = kinds_[2 * output->content + (output->own_order ? 1 : 0)];
  ++kind.came;
  if (kind.kept.size() < most_) return kind.kept.push_back(*std::move(output));
  // Each of those that came is as likely to stay: Vitter's algorithm R (ACM TOMS 11, 1985).
  const size_t place = Draw<size_t>(random, 0, kind.came - 1);
  if (place < most_) kind.kept[place] = *std::move(output);
}

void KeptOutputs::AddUnsampled(size_t set, Execution execution) {
  if (std::optional<TimedOutput> output = Unknown(set, std::move(execution))) sure_.push_back(*std::move(output));
}

Call<void> KeptOutputs::AddInputs(Session& session, uint64_t plan, std::span<const size_t> sets) {
  std::vector<Execution> executions(sets.size());
  if (Call<void> done = session.DownloadAll(plan, sets, Part::kInputs, executions); !done) return done;
  for (size_t i = 0; i < sets.size(); ++i) {
    TimedOutput output{.content = sets_.ContentOf(sets[i]), .execution = std::move(executions[i])};
    if (!SideEffect(output.execution).empty()) AddFault(std::move(output));
  }
  return {};
}

std::vector<TimedOutput> KeptOutputs::Take() {
  std::vector<TimedOutput> all = std::move(faults_);
  std::ranges::move(sure_, std::back_inserter(all));
  for (Kind& kind : kinds_) std::ranges::move(kind.kept, std::back_inserter(all));
  return all;
}

}  // namespace assay
