// SPDX-License-Identifier: Apache-2.0
// Allow-list for a worker's environment. It passes what configures drivers, languages and libraries by their documented
// names, and nothing that tells where results, golden values or the user's own files and accounts are.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Whether a variable is passed without being asked for.
bool IsPassed(std::string_view name);

// "NAME=value" each, as the process has them: those that IsPassed, and `more`.
std::vector<std::string> ListPassedVariables(std::span<const std::string> more);

// Variables of this process that a plugin's file names, as code that reads them does, and that are not among those
// which its worker gets; `is_script`: it is Python's source, else a library. Those of a session (USER, TERM, ...) and
// of this program do not count.
std::vector<std::string> FindUnpassedVariables(std::string_view file, bool is_script,
                                               std::span<const std::string> variables);

// Replaces or adds it.
void SetVariable(std::vector<std::string>& variables, std::string_view name, std::string_view value);
// Adds it unless it is there.
void DefaultVariable(std::vector<std::string>& variables, std::string_view name, std::string_view value);

}  // namespace assay
