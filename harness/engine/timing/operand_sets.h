// SPDX-License-Identifier: Apache-2.0
// The sets of operands that a timed loop runs on, and what the host does to their contents between calls so that no
// result can be an old one: slices change places, or all elements get a factor, in place and in the images that go to
// the device. What the output must be follows from that (SliceAxes, Operator::ScaledInputs).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "harness/engine/timing/timing.h"
#include "harness/exec/session.h"
#include "ops/slices.h"

namespace assay {

class OperandSets {
 public:
  // `count` sets that are executed, whose contents alternate. One more is not, where `unused` says so. The session and
  // what the case points to outlive this.
  OperandSets(Session& session, uint64_t plan, const TimedTrial& timed, size_t count, bool unused);

  // Uploads all of them, changed; but for the first of each content where `keep_own` says so.
  Call<void> Fill(std::mt19937_64& random, bool keep_own);

  // Changes what a set holds; adds what is to be uploaded.
  Call<void> Change(size_t set, std::mt19937_64& random, std::vector<Piece>& pieces);

  // Adds the inputs that an execution of the set has overwritten in place, for the next one.
  void Renew(size_t set, std::vector<Piece>& pieces) const;

  // Adds the set's outputs as they were before anything was executed, for the next execution.
  void AddPrefills(size_t set, std::vector<Piece>& pieces) const;
  // The two prefills alternate over the sets, so that no constant output passes for both.
  static Prefill PrefillOf(size_t set) { return set % 2 == 0 ? Prefill::kNanPayload : Prefill::kSentinel; }

  // The outputs of a set with their slices where the content has them, and without its factor.
  std::vector<Tensor> Restored(size_t set, const std::vector<Tensor>& outputs) const;

  size_t size() const { return count_; }
  bool has_unused() const { return unused_; }
  size_t unused() const { return count_; }  // the set that is not executed
  size_t ContentOf(size_t set) const { return sets_[set].content; }
  bool IsAsInCase(size_t set) const;

 private:
  struct Axes {
    SliceAxes axes;                                          // of the first output
    std::vector<int64_t> outputs;                            // where each output has them
    std::vector<std::pair<size_t, SlicedOperand>> operands;  // with their number
    uint64_t touched_bytes = 0;
    int64_t most_exchanges = 1;  // in one change
  };
  struct Set {
    size_t content = 0;
    std::vector<std::vector<int64_t>> orders;  // by axes: where each slice came from
    int exponent = 0;                          // of the factor
  };
  std::vector<Axes> AxesOf(const std::vector<SliceAxes>& all) const;
  std::vector<int64_t> OutputAxes(const SliceAxes& along) const;
  Call<void> Stage(size_t set);
  Call<void> StagePrefill(size_t set);
  Call<void> Exchange(size_t set, std::mt19937_64& random, std::vector<Piece>& pieces);
  Call<void> Scale(size_t set, std::mt19937_64& random, std::vector<Piece>& pieces);
  bool CanBeScaled(size_t content);
  Piece MakeWholePiece(size_t set, size_t operand) const;

  Session& session_;
  uint64_t plan_;
  const TimedTrial& case_;
  size_t count_;
  bool unused_;
  std::vector<int> scaled_;    // inputs
  std::vector<Axes> axes_;     // of all outputs; where they have none, of a single one's sums
  bool output_moves_ = false;  // axes_ are those of the outputs
  std::vector<int> scalable_;  // by content: -1 not known yet
  std::vector<Set> sets_;
};

// Each of low .. high as likely.
template <class T>
T Draw(std::mt19937_64& random, T low, T high) {
  return std::uniform_int_distribution<T>(low, high)(random);
}

// How many sets a case takes: enough for calls of some length, as many as the caches hold easily. At least two.
size_t NumberOfSets(const Problem& problem, double cache_bytes, double expected_s);
// Bytes of one set.
double BytesOfSet(const Problem& problem);
// Whether dozens of executions cost little beside the rest of the case, on any device: numbers of the case, no times.
bool IsCheapToRepeat(const Problem& problem);

}  // namespace assay
