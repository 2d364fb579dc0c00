// SPDX-License-Identifier: Apache-2.0
// Names of element types by their DLPack codes, those that the harness does not compute with included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/data/dtype.h"

namespace assay {

// The type that the harness computes with.
std::optional<DType> FindDLPackType(uint8_t code, uint8_t bits);

// "f32", "e4m3", "e2m3", "e8m0"...; "type 99 with 7 bits" of one without a name.
std::string TypeName(uint8_t code, uint8_t bits);

// The type that is judged and holds integers of such a DLPack type exactly ("i32" of 16 bits); "": there is none.
std::string_view WiderInteger(uint8_t code, uint8_t bits);

}  // namespace assay
