// SPDX-License-Identifier: Apache-2.0
// Names of element types by their DLPack codes, those that the harness does not compute with included.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

// "f32", "e4m3", "e2m3", "e8m0"...; "type 99 with 7 bits" of one without a name.
std::string TypeName(uint8_t code, uint8_t bits);

}  // namespace assay
