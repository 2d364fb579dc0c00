// SPDX-License-Identifier: Apache-2.0
// What a message may look like before it becomes a JSON value. The bytes of a worker may be anything, and values cost
// far more than the text that makes them: a value in each second byte, stack for each bracket when they are freed, and
// for each member of an object a look at all that it has before.
#pragma once

#include <cstddef>
#include <string_view>

#include "harness/base/result.h"

namespace assay {

inline constexpr size_t kMaxFrameDepth = 32;
inline constexpr size_t kMaxFrameValues = size_t{1} << 18;
inline constexpr size_t kMaxFrameMembers = 1024;  // of one object
inline constexpr size_t kMaxFrameStringBytes = size_t{64} << 10;

// In one pass, without recursion or memory. Says nothing about whether the text is JSON.
Status CheckShape(std::string_view json);

}  // namespace assay
