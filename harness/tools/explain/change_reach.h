// SPDX-License-Identifier: Apache-2.0
// How much of a result a single change explains, of the case, of its formula or of its output.
#pragma once

#include <optional>
#include <vector>

#include "harness/tools/explain/cause.h"
#include "harness/tools/explain/near_elements.h"

namespace assay {

// Takes the result for one of another operator.
WrongResult TakeAsResultOf(const WrongResult& result, const Operator& op, const Problem& problem,
                           const std::vector<Tensor>& inputs, const std::vector<Tensor>& got);

// The graph of the operator's formula. Precondition: it is one.
formula::Graph GraphOf(const WrongResult& result);

// `whole`: the graph of the operator's formula, which the change is made to.
Reach ExplainByFormula(const WrongResult& result, const formula::Graph& whole, const formula::GraphChange& change,
                       const NearElements& near, ResultFit& fit);

// Precondition: the change is none of the formula, and no narrowing.
Reach Explain(const WrongResult& result, const CaseChange& change, ResultFit& fit);

// The case of a mistake, to which another one may be made.
struct CaseOfMistake {
  Problem problem;
  std::vector<Tensor> inputs;
};
std::optional<CaseOfMistake> MakeMistake(const WrongResult& result, const CaseChange& change);

// How a change that was found for a result, maybe another one, explains this one. Precondition: it has `places`, and
// the change is no narrowing.
Reach ReachOf(const WrongResult& result, const CaseChange& change);

// How far a change that explains a result agrees with another one of the kernel. Other roundings than those inside of
// the formula leave exact data as they are, which then say nothing of them; operands of few bits are no reason for
// wrong results on such data, unless they make these as well.
Reach ReachBeside(const WrongResult& beside, const CaseChange& change, Reach reach);

}  // namespace assay
