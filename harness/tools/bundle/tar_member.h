// SPDX-License-Identifier: Apache-2.0
// One regular file of a tar archive (POSIX ustar), of which nothing but its name and size is said.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/base/result.h"

namespace assay {

// Relative, without "..", of letters that need no quoting, and short enough for a header.
Status CheckMemberName(std::string_view name);

// Header, contents and padding. Precondition: CheckMemberName.
std::string TarMember(std::string_view name, std::string_view contents);
std::string TarEnd();

struct TarFile {
  std::string name, contents;
};
// Parses exactly one member. Fails if any byte differs from the output of TarMember.
Result<TarFile> ParseTarMember(std::string_view bytes);

}  // namespace assay
