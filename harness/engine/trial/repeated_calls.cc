// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/repeated_calls.h"

#include <algorithm>
#include <numeric>

#include "harness/core/base/entropy.h"
#include "harness/engine/timing/kept_outputs.h"

namespace assay {
namespace {

constexpr size_t kSets = 8;

class RepeatedCalls {
 public:
  RepeatedCalls(Session& session, uint64_t plan, const TimedTrial& timed, size_t most_kept)
      : session_(session),
        plan_(plan),
        case_(timed),
        sets_(session, plan, case_, kSets, false),
        kept_(case_, sets_, most_kept) {}

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
    std::vector<size_t> executed;
    for (size_t set = 0; set < kSets; ++set) {
      if (used_[set]) executed.push_back(set);
    }
    if (Call<void> done = kept_.AddInputs(session_, plan_, executed); !done) return tl::unexpected(done.error());
    return kept_.Take();
  }

 private:
  Call<void> CallOnce(const std::vector<size_t>& order) {
    std::vector<Piece> pieces;
    for (const size_t set : order) {
      if (!used_[set]) continue;
      if (Call<void> changed = sets_.Change(set, random_, pieces); !changed) return changed;
      // Few rows change at a time: what is left of the output before would mostly be right. Now and then it stays
      // where slices move, for kernels that add to it.
      if (Draw(random_, 0, 7) != 0) sets_.AddPrefills(set, pieces);
      sets_.Renew(set, pieces);
    }
    if (!pieces.empty()) {
      if (const Call<double> sent = session_.Upload(plan_, pieces); !sent) return tl::unexpected(sent.error());
    }
    const Call<Batch> batch = session_.ExecuteBatch(plan_, BatchRequest{order, CacheState::kWarm, -1});
    if (!batch) return tl::unexpected(batch.error());
    for (const size_t set : order) used_[set] = true;
    return Fetch(order);
  }

  // Downloads all outputs. Some are judged, and every one that seems to lack elements.
  Call<void> Fetch(const std::vector<size_t>& sets) {
    std::vector<Execution> executions(sets.size());
    for (size_t i = 0; i < sets.size(); ++i) executions[i].prefill = OperandSets::PrefillOf(sets[i]);
    if (Call<void> done = session_.DownloadAll(plan_, sets, Part::kOutputs, executions); !done) return done;
    for (size_t i = 0; i < sets.size(); ++i) {
      if (executions[i].prefilled > 0) {
        kept_.AddUnsampled(sets[i], std::move(executions[i]));
      } else {
        kept_.Add(sets[i], std::move(executions[i]), random_);
      }
    }
    return {};
  }

  Session& session_;
  uint64_t plan_;
  TimedTrial case_;
  OperandSets sets_;
  std::mt19937_64 random_{DrawEntropy()};  // not reproducible on purpose: no plugin can foresee it
  bool used_[kSets] = {};
  KeptOutputs kept_;
};

}  // namespace

Call<std::vector<TimedOutput>> RunRepeatedly(Session& session, uint64_t plan, const TimedTrial& timed,
                                             size_t executions, size_t most_kept) {
  return RepeatedCalls(session, plan, timed, most_kept).Run(executions);
}

}  // namespace assay
