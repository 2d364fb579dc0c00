// SPDX-License-Identifier: Apache-2.0
// A covering design: few cases of an operator in which all pairs of levels of its dimensions occur, or all threes of
// some of them. Greedy, as AETG (Cohen et al., The AETG System, IEEE TSE 23(7), 1997): each case starts from a
// combination that is still missing, and every other knob is turned to the value that adds most missing ones. A case
// that the operator or the limits refuse is left out. A combination is impossible if all values that decide it were
// refused. Equal declarations and limits give equal cases on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/plan/cover/candidates.h"

namespace assay {

struct CoverOptions {
  int strength = 2;  // 3: also in threes, those dimensions that take part (Dimension::in_triples)
  size_t most = 0;   // cases, of which the first ones have most of the combinations; 0: as many as it takes
  CoverLimits limits;
};

// State of a combination, unless it is an index into CoveredSet::reasons.
inline constexpr int kCovered = -1;   // a case of the design has it
inline constexpr int kNotFound = -2;  // the search gave up: no case of the design has it, others may
inline constexpr int kLeftOut = -3;   // the design has as many cases as it may have

// A set of combinations, with what became of each.
struct CoveredSet {
  int strength = 2;
  TupleSet tuples;
  std::vector<int> reason;           // of each tuple; an index into reasons: no case has it
  std::vector<std::string> reasons;  // why no case has it
};

struct Cover {
  std::vector<CaseSpec> cases;   // canonical, each once
  std::vector<CoveredSet> sets;  // pairs, then threes
};

// Precondition: the operator declares dimensions.
Cover MakeCover(const Operator& op, const CoverOptions& options);

// "k mod 8=-1, bias=1"
std::string TupleText(const CaseSpace& space, const Tuple& tuple);

}  // namespace assay
