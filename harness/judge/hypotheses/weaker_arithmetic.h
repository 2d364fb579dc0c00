// SPDX-License-Identifier: Apache-2.0
// Finds out whether a result that fails its declared contract is what a weaker arithmetic gives everywhere: the
// tightest contract under which hard bound and statistic hold, with errors that fill it. A wrong element, or a cluster
// of them, is no such class.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "harness/judge/metrics.h"
#include "ops/operator.h"

namespace assay {

struct JudgedOutput {
  std::span<const Tensor> inputs;
  const Tensor* got = nullptr;  // canonical, see Operator::Canonicalise
  // The elements that are furthest off by the declared contract, where they are known: what they refute needs no golden
  // value of the whole case.
  std::span<const WorstElement> worst = {};
};

struct WeakerArithmetic {
  Contract contract;
  std::string field;  // "in=tf32rn"
  std::string name;   // "tf32 operands"
  // Margin of the main output under this class: at most 1, or FindWeakerArithmetic would not return it.
  double bound_margin = 0;
  std::optional<double> stat_margin;  // absent if simulated sums reproduced these results (stronger evidence)
};

// Golden values of what weaker classes make of the operands. They depend on the operands alone, so one cache serves
// every implementation of a case. Inputs are told apart by where they lie: they have to outlive the cache, unmoved.
class HypothesisGoldens {
 public:
  static constexpr double kMostBytes = 0x1p28;
  explicit HypothesisGoldens(double most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // The golden value of `name`, from `make` when it is not there; none where `make` gives none. What does not fit into
  // the limit is made every time.
  using Made = std::shared_ptr<const Golden>;
  Made Get(const std::string& name, std::span<const Tensor> inputs, const std::function<Made()>& make);
  int64_t made() const { return made_; }

 private:
  double most_bytes_, bytes_ = 0;
  int64_t made_ = 0;
  std::map<std::pair<std::string, const Tensor*>, Made> goldens_;
};

// `golden` belongs to the case's own inputs in `main`. Outputs on `twins` data have to stay within the class too; they
// are compared by its hard bound. Roundings of operands are taken as a fact: the golden values of the rounded operands
// are computed and judged by the declared contract, which leaves a wrong term no room. Other classes are judged by
// their own bound and statistic, or by sums that are formed in their accumulator (FindNarrowSums). nullopt: nothing
// weaker explains the result. `goldens` is of the same problem and tier; null: each is made anew.
std::optional<WeakerArithmetic> FindWeakerArithmetic(const Operator& op, const Problem& problem, size_t output,
                                                     const Contract& declared, const Golden& golden,
                                                     const JudgedOutput& main, std::span<const JudgedOutput> twins,
                                                     HypothesisGoldens* goldens = nullptr);

}  // namespace assay
