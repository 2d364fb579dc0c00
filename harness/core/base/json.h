// SPDX-License-Identifier: Apache-2.0
// The kind of JSON value that assay reads and writes: an object keeps the order in which its members were set, so that
// files read as they were written. One kind, since every unit that uses another compiles all of the library's templates
// again; harness/core/data/safetensors.cc alone does, whose objects have so many members that looking through them
// would take long.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay {

using Json = nlohmann::ordered_json;

}  // namespace assay
