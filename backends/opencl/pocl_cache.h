// SPDX-License-Identifier: Apache-2.0
// PoCL keeps what it compiles in files. Without a folder for them it has no device, and with one where it cannot write
// it compiles nothing; it says neither why.
#pragma once

#include <string>
#include <string_view>

namespace opencl {

inline constexpr std::string_view kPoclPlatform = "Portable Computing Language";

// "its cache folder /x/pocl/kcache cannot be written (Permission denied): set ...", "" where it can. Creates the folder
// as PoCL does.
std::string PoclCacheProblem();

}  // namespace opencl
