// SPDX-License-Identifier: Apache-2.0
// The rules of propagation for golden values themselves, for what a contract permits, and for deviations.
#pragma once

#include <vector>

#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"
#include "ops/formula/error.h"

namespace assay::formula {

// E_gold: how far values in double, or in double-double, lie from the exact ones.
ErrorRules GoldenRules(bool double_double);

// How far a correct implementation lies from these values. `inputs`: types of the operands. An output of a wider range
// than the accumulator's needs `last_range` besides.
ErrorRules ContractRules(const Contract& contract, const std::vector<DType>& inputs, bool double_double);

// Errors that may always go in one direction: those of functions, flushing, and terms that sums lose.
ErrorRules SystematicRules(const Contract& contract, const std::vector<DType>& inputs, bool double_double);

// Errors that all rows may have in one direction: those above, with the loss of sums as it was measured (`sum_lean`, a
// share of a sum's magnitude), and one rounding of each addition and product outside sums, of each constant, and of
// each input that rows have in common.
ErrorRules LeanRules(const ErrorRules& systematic, const Contract& contract, const std::vector<bool>& is_common,
                     double sum_lean);

// Deviations in units of kSigmaUnit, a unit roundoff so small that rests of second order vanish.
inline constexpr double kSigmaUnit = 0x1p-40;
ErrorRules SigmaRules();

}  // namespace assay::formula
