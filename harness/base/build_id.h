// SPDX-License-Identifier: Apache-2.0
// Which build of the program is running.
#pragma once

#include <string>

namespace assay {

// What the linker wrote into the program or shared library that this code is part of, in hex: another one whenever
// anything in it is another. "": it wrote nothing.
std::string OwnBuildId();

}  // namespace assay
