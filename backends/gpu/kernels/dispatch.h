// SPDX-License-Identifier: Apache-2.0
// From a tag to a type: call(T{}).
#pragma once

#include "backends/gpu/device/elements.h"

namespace gpu {

template <class Call>
void ForHalf(Tag tag, const Call& call) {
  if (tag == Tag::kF16) {
    call(Half{});
  } else {
    call(BFloat{});
  }
}

template <class Call>
void ForFloat(Tag tag, const Call& call) {
  if (tag == Tag::kF64) {
    call(double{});
  } else if (tag == Tag::kF32) {
    call(float{});
  } else {
    ForHalf(tag, call);
  }
}

template <class Call>
void ForFloatOrInt8(Tag tag, const Call& call) {
  if (tag == Tag::kI8) {
    call(int8_t{});
  } else {
    ForFloat(tag, call);
  }
}

}  // namespace gpu
