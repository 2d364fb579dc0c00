// SPDX-License-Identifier: Apache-2.0
// Operators from data: files of definitions, whose form harness/python/DEFINITIONS.md describes. An operator is a graph
// of named functions over axes whose extents a case gives, and becomes a FormulaOperator as one of ops/defs does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

// Registers the operators of the text for as long as the process lives, and returns their names. Any thread may call
// it. `place` names the text in errors: it is no such text, or of a later version; a member is missing, of another kind
// or not known; a definition makes no operator; an operator of its name is there and is another one. Nothing is
// registered then.
Result<std::vector<std::string>> AddDefinitions(std::string_view text, const std::string& place);

// Places of the texts that were registered, each once, in their order.
std::vector<std::string> DefinitionPlaces();
// The definition that has registered the operator, as a line of JSON; "": none has.
std::string FindDefinition(std::string_view op);

// A file of definitions that are lines of JSON.
std::string JoinDefinitions(const std::vector<std::string>& definitions);

}  // namespace assay
