// SPDX-License-Identifier: Apache-2.0
// Recognises an operator whose intermediates were kept in a narrower format by computing it likewise and comparing.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/judge/judge.h"
#include "ops/operator.h"

namespace assay {

// The text of the order that leaves least of the errors of `got`: at most a tenth of their squares, and of no element
// more than what a handful of intermediates make that round to the other side. Errors count in the deviations that
// `by_class` has, the judge of the contract with such intermediates; `declared` is that of the declared one. nullopt:
// no order does, or there are too few roundings to tell. Of large outputs evenly spread rows are computed.
std::optional<std::string> FindNarrowedOrder(const Problem& problem, const NarrowedOrders& orders,
                                             const ElementJudge& declared, const ElementJudge& by_class,
                                             const Tensor& got);

}  // namespace assay
