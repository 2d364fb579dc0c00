// SPDX-License-Identifier: Apache-2.0
// Names that other libraries have for operators, attributes and operands: for hints to those who try them, and so that
// programs may give attributes under them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/case_spec.h"

namespace assay {

// "; did you mean 'softmax' with log=1?" of "F.log_softmax", where `known` has softmax; else of the nearest of `known`,
// or "".
std::string OperatorHint(std::string_view word, std::span<const std::string> known);

// "; did you mean 'axis'?" of "dim", where the operator has it; says so if the word is an operand's name.
std::string AttributeHint(std::string_view word, const OpSchema& schema);

// "; did you mean 'gamma'?" of "weight", where the operator has such an operand.
std::string OperandHint(std::string_view word, const OpSchema& schema);

// Other names of the attribute that take the same values: "dim" of axis. A name is that of one attribute alone.
std::vector<std::string> OtherNamesOf(std::string_view key, const OpSchema& schema);

}  // namespace assay
