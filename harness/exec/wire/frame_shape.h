// SPDX-License-Identifier: Apache-2.0
// Limits the shape of a message before it becomes a JSON value. A worker may send any bytes, and values cost far more
// than their text: one for every second byte, stack for each bracket when they are freed, and for each member of an
// object a search through the earlier ones.
#pragma once

#include <cstddef>
#include <string_view>

#include "harness/core/base/result.h"

namespace assay {

inline constexpr size_t kMaxFrameDepth = 32;
inline constexpr size_t kMaxFrameValues = size_t{1} << 18;
inline constexpr size_t kMaxFrameMembers = 1024;  // of one object
inline constexpr size_t kMaxFrameStringBytes = size_t{64} << 10;

// In one pass, without recursion or memory. Says nothing about whether the text is JSON.
Status CheckShape(std::string_view json);

}  // namespace assay
