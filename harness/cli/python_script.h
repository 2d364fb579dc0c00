// SPDX-License-Identifier: Apache-2.0
// Verbs whose work is done by the module assay in the user's Python.
#pragma once

#include <string>

#include "harness/core/base/json.h"

namespace assay::cli {

// Replaces this process by a script of the module, which gets the settings as its only word. `python`: the interpreter
// that --python names, "" for the default. Returns an exit code where that fails.
int BecomeScript(const std::string& script, const Json& settings, const std::string& python);

}  // namespace assay::cli
