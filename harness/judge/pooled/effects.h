// SPDX-License-Identifier: Apache-2.0
// Effects that wrong arithmetic would have on a case's results, where correct arithmetic has no choice. Errors that
// correlate with an effect were caused by it, however small it is compared with roundings.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/core/data/tensor.h"
#include "ops/operator.h"

namespace assay {

struct Effect {
  enum class Kind : uint8_t { kOperandBits, kConstant };
  Kind kind = Kind::kConstant;
  std::string question;
  std::vector<double> values;  // per golden value; 0 where it is not known
};

// Golden values are computed once more for each effect: of problems up to these sizes, some ten milliseconds at most.
inline constexpr double kMostFlopsOfEffects = 2e7, kMostBytesOfEffects = 0x1p22;

// Effects on one output:
// - "operand_bits_4_NAME" and "operand_bits_2": the last four bits of one factor of f32 or f64, or the last two of all
//   of them, are replaced by their middle, in operators that multiply before they add. Bits that are zero stay zero.
//   The remaining effect has no preferred sign: bits of random data are as often above their middle as below.
// - a real attribute, by its name: the effect of making it larger, relative to how much larger it is.
// Precondition: the golden value is of these inputs.
std::vector<Effect> MakeEffects(const Operator& op, const Problem& problem, size_t output,
                                std::span<const Tensor> inputs, const Golden& golden);

}  // namespace assay
