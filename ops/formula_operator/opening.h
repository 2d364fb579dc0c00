// SPDX-License-Identifier: Apache-2.0
// Why a contract bounds nothing at some element of a formula's output, for messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ops/formula/opening.h"
#include "ops/operator.h"

namespace assay {

// nullopt: the operator is no formula, or its formula does not show it.
std::optional<formula::Opening> FindOpening(const Operator& op, const Problem& problem, size_t output,
                                            std::span<const Tensor> inputs, const Contract& contract, Tier tier,
                                            int64_t element);

}  // namespace assay
