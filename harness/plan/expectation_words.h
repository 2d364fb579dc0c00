// SPDX-License-Identifier: Apache-2.0
// The words of expectation files, each checked against what operators and contracts know: a word that nothing can match
// is refused. Private to expectations.cc. Errors leave out file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/expectations.h"

namespace assay {

// Of a key that takes words: adds one of them to the rule.
bool TakesWords(std::string_view key);
Status AddWord(std::string_view key, std::string_view word, const OpCatalog& ops, Expectation& rule);

// Of a key that takes one text: the place of it in the rule; nullptr where there is no such key.
std::string* TextOf(std::string_view key, Expectation& rule);
Status CheckText(std::string_view key, std::string_view text);

std::string KnownKeys();

// What must not be missing.
Status CheckComplete(const Expectation& rule);

// One of the rule's conditions, against its operators, which another key names.
Status CheckCondition(const AttrCondition& condition, const Expectation& rule);

Status CheckFill(std::string_view glob);

// Of a glob of case ids: an operator, dtypes, keys or a fill that there are not.
Status CheckCaseGlob(std::string_view glob, const OpCatalog& ops);

}  // namespace assay
