// SPDX-License-Identifier: Apache-2.0
// The climbing form of conv's exact twin: all products of an output have one sign, and operands are so large that its
// sum exceeds what narrower accumulators hold, in whatever order it is formed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/conv/conv.h"

namespace assay {

struct ConvClimb {
  int64_t x = 1, w = 1;                // the largest magnitudes
  int64_t x_spread = 0, w_spread = 0;  // magnitudes are that much smaller at most
  // The step of spreads that is taken at every kSparse-th place alone: operands are barely large enough.
  bool sparse = false;
  bool negative = false;  // both operands are: two's complement reaches one further there

  // Values of x at place i, and of w at term k of an output with factor 1. Variants of the twin have their own streams.
  int64_t Pixel(uint64_t stream, int64_t i) const;
  int64_t Tap(int64_t k) const;
  std::string Describe() const;
};

// nullopt: the output cannot show all bits of the accumulator, or there is no room for terms.
std::optional<ConvClimb> PlanConvClimb(const ConvArgs& op, const Problem& problem, const Contract& contract,
                                       double added);

}  // namespace assay
