// SPDX-License-Identifier: Apache-2.0
// Frameworks store the intermediates of operators on 16-bit types in these types: scores and probabilities of
// attention, exponentials of softmax, the steps of a normalisation. That is what a user's results are judged by where
// nobody states a contract.
#pragma once

#include <optional>

#include "ops/operator.h"

namespace assay {

// `contract` with intermediates in the first 16-bit type among the inputs, which has to be that of an output too.
// nullopt: there is none, no correct implementation of the operator needs them (required_fields has mid=none),
// or it is a function of one or two elements (gelu, add), which frameworks compute in f32 as a whole. Those of three
// are not (fma), and neither are those that a user defines: frameworks execute them step by step.
std::optional<Contract> WithNarrowIntermediates(const Operator& op, const Problem& problem, const Contract& contract);

}  // namespace assay
