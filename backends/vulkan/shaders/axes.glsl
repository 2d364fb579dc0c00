// SPDX-License-Identifier: Apache-2.0
// Loop nests as lists of axes.
struct Axis {
  uint size, in_stride, out_stride, unused;
};
const uint kMaxAxes = 8;

// Offsets (input, output) of the element at row-major position `index`.
#define OFFSETS_OF(name, axes, count)                                                   \
  uvec2 name(uint index) {                                                              \
    uvec2 at = uvec2(0);                                                                \
    for (uint i = Opaque(count); i-- > 0u;) {                                                   \
      const uint step = i == 0u ? index : index % axes[i].size;                         \
      at += step * uvec2(axes[i].in_stride, axes[i].out_stride);                        \
      if (i > 0u) index /= axes[i].size;                                                \
    }                                                                                   \
    return at;                                                                          \
  }
