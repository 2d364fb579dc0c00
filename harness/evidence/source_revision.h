// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace assay {

// What the program was made from, as of its configuration: a commit, marked where the working tree differs from it; ""
// where nobody knows.
extern const char* const kSourceRevision;

}  // namespace assay
