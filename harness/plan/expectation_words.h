// SPDX-License-Identifier: Apache-2.0
// The lines and words of expectation files, each checked against what operators and contracts know: a word that nothing
// can match is refused. Private to expectations.cc. Errors leave out file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/expectations.h"

namespace assay {

// Of the long form: its first line, one of the others, and what must not be missing.
Result<Expectation> NewRule(std::string_view kind, std::string_view name);
Status AddLine(std::string_view key, std::string_view rest, const OpCatalog& ops, Expectation& rule);
Status CheckComplete(const Expectation& rule);

// One of the rule's conditions, against its operators, which another line may have named.
Status CheckCondition(const AttrCondition& condition, const Expectation& rule);

Status AddEstablished(std::string_view rest, std::vector<std::string>& established);

Result<Expectation> ParseShortForm(std::string_view line, const OpCatalog& ops);

// "mismatch, crash"; "" is the default.
Status SetVerdicts(std::string_view text, Expectation& rule);

bool IsKind(std::string_view word);  // known_failure or known_flake
Status CheckFill(std::string_view glob);

// Of a glob of case ids: an operator, dtypes, keys or a fill that there are not.
Status CheckCaseGlob(std::string_view glob, const OpCatalog& ops);

}  // namespace assay
