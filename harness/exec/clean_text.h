// SPDX-License-Identifier: Apache-2.0
// Text from a backend, made safe to print and to put into JSON, XML and HTML: valid UTF-8, bounded, without control
// characters (a device name must not move the cursor of the terminal it is printed on).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

enum class Lines { kJoin, kKeep };  // newlines become spaces, or stay

// Each byte that belongs to no valid character becomes U+FFFD. C0 and C1 controls, DEL and the marks that reorder
// text are dropped; tabs become spaces. A longer text is cut at a character and ends in "...", within max_bytes >= 3.
std::string CleanText(std::string_view text, size_t max_bytes, Lines lines = Lines::kJoin);

}  // namespace assay
