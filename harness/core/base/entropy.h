// SPDX-License-Identifier: Apache-2.0
// Numbers that nobody can foresee, for what a plugin must not know beforehand.
#pragma once

#include <cstdint>

namespace assay {

// 64 bits of the kernel's. A std::random_device takes dozens of times as long to set up in a virtual machine, since it
// asks the processor what it can do.
uint64_t DrawEntropy();

}  // namespace assay
