// SPDX-License-Identifier: Apache-2.0
// Options of the verbs that take tensors of a user.
#pragma once

#include "harness/engine/trial/reproduction.h"

namespace CLI {
class App;
}

namespace assay::cli {

// --op, --attr, --input, --output and --dtype.
void AddTensorOptions(CLI::App& verb, CheckRequest& request);

// --contract, --require, --exact-ulp and --tier.
void AddJudgedByOptions(CLI::App& verb, CheckRequest& request);

}  // namespace assay::cli
