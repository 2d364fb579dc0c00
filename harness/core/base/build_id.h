// SPDX-License-Identifier: Apache-2.0
// Which build of the program is running.
#pragma once

#include <string>

namespace assay {

// The linker's build ID, in hex, of the program or shared library that contains this code. It changes with any change
// of the binary. "" if the linker wrote none.
std::string OwnBuildId();

}  // namespace assay
