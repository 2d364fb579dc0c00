// SPDX-License-Identifier: Apache-2.0
#include "harness/run/repeated_calls.h"

#include <algorithm>
#include <numeric>

#include "harness/run/executions.h"
#include "harness/run/timing/operand_sets.h"

namespace assay {
namespace {

constexpr size_t kSets = 8;

class RepeatedCalls {
 public:
  RepeatedCalls(Session& session, uint64_t plan, const TimedCase& timed, size_t most_kept)
      : session_(session),
        plan_(plan),
        case_(timed),
        most_kept_(most_kept),
        sets_(session, plan, case_, kSets, false),
        unknown_(case_.contents.size()) {}

  Call<std::vector<TimedOutput>> Run(size_t executions) {
    if (Call<void> filled = sets_.Fill(random_, true); !filled) return tl::unexpected(filled.error());
    for (size_t done = 0; done < executions;) {
      std::vector<size_t> order(kSets);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random_);
      order.resize(Draw<size_t>(random_, 1, kSets));
      if (Call<void> called = CallOnce(order); !called) return tl::unexpected(called.error());
      done += order.size();
    }
    if (Call<void> checked = CheckInputs(); !checked) return tl::unexpected(checked.error());
    return std::move(kept_);
  }

 private:
  Call<void> CallOnce(const std::vector<size_t>& order) {
    std::vector<Piece> pieces;
    for (const size_t set : order) {
      if (!used_[set]) continue;
      if (Call<void> changed = sets_.Change(set, random_, pieces); !changed) return changed;
    }
    if (!pieces.empty()) {
      if (const Call<double> sent = session_.Upload(plan_, pieces); !sent) return tl::unexpected(sent.error());
    }
    const Call<Batch> batch = session_.ExecuteBatch(plan_, BatchRequest{order, CacheState::kWarm, -1});
    if (!batch) return tl::unexpected(batch.error());
    for (const size_t set : order) {
      used_[set] = true;
      Execution execution;
      const Call<double> fetched = session_.Download(plan_, set, Part::kOutput, execution);
      if (!fetched) return tl::unexpected(fetched.error());
      Keep(set, std::move(execution));
    }
    return {};
  }

  void Keep(size_t set, Execution execution) {
    const size_t content = sets_.ContentOf(set);
    TimedOutput output{content, sets_.IsAsInCase(set), std::move(execution)};
    if (!SideEffect(output.execution).empty()) return kept_.push_back(std::move(output));
    if (!output.own_order) output.execution.output = sets_.Restored(set, output.execution.output);
    if (HashOf(output.execution.output) == case_.known[content]) return;
    // Of the case's own data there are one or two: they say whether bits repeat.
    if (output.own_order || ++unknown_[content] <= most_kept_) return kept_.push_back(std::move(output));
    // Each of those that came is as likely to stay: Vitter's algorithm R (ACM TOMS 11, 1985).
    const size_t place = Draw<size_t>(random_, 0, unknown_[content] - 1);
    for (size_t i = 0, of_content = 0; i < kept_.size() && place < most_kept_; ++i) {
      const bool stays = kept_[i].own_order || !SideEffect(kept_[i].execution).empty();
      if (stays || kept_[i].content != content) continue;
      if (of_content++ == place) kept_[i] = std::move(output);
    }
  }

  Call<void> CheckInputs() {
    for (size_t set = 0; set < kSets; ++set) {
      if (!used_[set]) continue;
      TimedOutput output{.content = sets_.ContentOf(set), .execution = {}};
      const Call<double> fetched = session_.Download(plan_, set, Part::kInputs, output.execution);
      if (!fetched) return tl::unexpected(fetched.error());
      if (!SideEffect(output.execution).empty()) kept_.push_back(std::move(output));
    }
    return {};
  }

  Session& session_;
  uint64_t plan_;
  TimedCase case_;
  size_t most_kept_;
  OperandSets sets_;
  std::mt19937_64 random_{std::random_device{}()};  // not reproducible on purpose: no plugin can foresee it
  bool used_[kSets] = {};
  std::vector<size_t> unknown_;  // outputs whose bits nobody knew, by content
  std::vector<TimedOutput> kept_;
};

}  // namespace

Call<std::vector<TimedOutput>> RunRepeatedly(Session& session, uint64_t plan, const TimedCase& timed,
                                             size_t executions, size_t most_kept) {
  return RepeatedCalls(session, plan, timed, most_kept).Run(executions);
}

}  // namespace assay
