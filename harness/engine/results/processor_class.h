// SPDX-License-Identifier: Apache-2.0
// Classes of processors by the widest instructions that numerical libraries choose their kernels by.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Class of a machine from its name by uname and the flags in /proc/cpuinfo: "x86-64-avx2", "x86-64-amx", "aarch64-sve".
// Returns the machine alone if its flags are unknown.
std::string ProcessorClassOf(std::string_view machine, std::string_view flags);

std::string ProcessorClass();  // of this host

}  // namespace assay
