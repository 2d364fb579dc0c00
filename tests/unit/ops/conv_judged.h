// SPDX-License-Identifier: Apache-2.0
// A convolution with its golden value and bound, against which simulated implementations are held.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "tests/support/operator_cases.h"
#include "tests/support/simulate/conv.h"

namespace assay::test {

inline constexpr const char* kConvFills[] = {"uniform", "normal", "lognormal", "outlier", "cancel-1e4",
                                             "ramp",    "coded",  "subnormal", "pow2",    "near_one"};

struct ConvTally {
  int tensors = 0, pushed = 0, freed = 0;
  double closest = 0;  // largest |error| / bound seen
};

// A bound problem with everything that judging needs.
struct Judged {
  Judged(const std::string& id, const char* declaration)
      : problem(Bind(id)),
        contract(Declared(declaration)),
        inputs(Op("conv").MakeInputs(problem)),
        golden(Op("conv").ComputeGolden(problem, 0, inputs,
                                        problem.spec.seed % 2 == 0 ? Tier::kFast : Tier::kReproducible)),
        bound(BoundOf(problem, golden, contract)) {}

  bool Holds(int64_t i, double got) const { return Accepts(bound, golden, i, got); }
  void Check(std::span<const double> got, ConvTally& tally) const {
    for (int64_t i = 0; i < golden.size(); ++i) {
      ASSERT_TRUE(Holds(i, got[i])) << "element " << i << ": got " << got[i] << " golden " << golden.value[i]
                                    << (bound.exact ? ""
                                                    : fmt::format(" bound {}", bound.LargestToleranceAt(golden, i)));
      if (bound.IsFree(i)) ++tally.freed;
      if (bound.exact || !std::isfinite(golden.value[i]) || !std::isfinite(got[i]) || bound.IsFree(i)) continue;
      const double limit = bound.LargestToleranceAt(golden, i);
      if (limit > 0) tally.closest = std::max(tally.closest, std::abs(got[i] - golden.value[i]) / limit);
    }
  }
  // Perfectly rounded results pass; 1.05 times the bound does not.
  void CheckEdges(ConvTally& tally) const {
    const DType out = problem.outputs[0].dtype;
    for (int64_t i = 0; i < golden.size(); ++i) {
      const double y = golden.value[i];
      if (!std::isfinite(y)) continue;
      if (contract.ftz == Flush::kNone) {
        ASSERT_TRUE(Holds(i, IsInt(out) ? y : RoundTo(FormatOf(out), y))) << "element " << i;
      }
      if (bound.exact || bound.IsFree(i)) continue;
      const double limit = bound.LargestToleranceAt(golden, i), lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
      for (double side : {-1.05, 1.05}) {
        const double beyond = HeldBeyond(out, y, y + side * limit);
        if (!(std::abs((beyond - y) - lo) > 1.02 * limit) || !std::isfinite(beyond)) continue;
        ASSERT_FALSE(Holds(i, beyond)) << "element " << i;
        ++tally.pushed;
      }
    }
  }

  Problem problem;
  Contract contract;
  std::vector<Tensor> inputs;
  Golden golden;
  DeclaredBound bound;
};

// The share of outputs on ordinary data in which a contract's bound sees that one of eight channels was left out.
inline double ShareWithoutAChannelCaught(const char* declaration) {
  const Judged judged("conv/f32/n=1,c=8,o=4,i=8x8,k=3x3,pad=1/fill=normal/seed=0", declaration);
  const std::vector<double> got =
      IntegerConv(judged.problem, judged.inputs, [](int64_t, std::vector<ConvProduct>& products) {
        for (size_t k = products.size() - 9; k < products.size(); ++k) products[k].x = -1;
      });
  int64_t caught = 0;
  for (int64_t i = 0; i < judged.golden.size(); ++i) caught += judged.Holds(i, got[i]) ? 0 : 1;
  return static_cast<double>(caught) / static_cast<double>(judged.golden.size());
}

}  // namespace assay::test
