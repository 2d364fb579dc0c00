// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace assay {

// Commit of the program's source, taken at configuration and marked if the working tree differs from it; "" if unknown.
extern const char* const kSourceRevision;

}  // namespace assay
