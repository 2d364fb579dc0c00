// SPDX-License-Identifier: Apache-2.0
// The words of expectation files, each checked against what operators and contracts know: a word that nothing can match
// is refused. Private to expectations.cc. Errors leave out file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/expectations.h"

namespace assay {

// TakesWords: whether a key has a list of words. AddWord adds one of them to the rule.
bool TakesWords(std::string_view key);
Status AddWord(std::string_view key, std::string_view word, const OpCatalog& ops, Expectation& rule);

// Returns the text of a key in the rule; nullptr if the key has no text.
std::string* TextOf(std::string_view key, Expectation& rule);
Status CheckText(std::string_view key, std::string_view text);

std::string KnownKeys();

// Checks that all required keys are present.
Status CheckComplete(const Expectation& rule);

// Checks a condition of the rule against its operators, which another key names.
Status CheckCondition(const AttrCondition& condition, const Expectation& rule);

Status CheckFill(std::string_view glob);

// Checks a glob of case ids for operators, dtypes, keys or fills that do not exist.
Status CheckCaseGlob(std::string_view glob, const OpCatalog& ops);

}  // namespace assay
