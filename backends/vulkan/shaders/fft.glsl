// SPDX-License-Identifier: Apache-2.0
// Complex numbers as pairs, and tables of roots of unity. Products are multiplied and added apart.
#include "types.glsl"
#include "axes.glsl"

#if defined(VARIANT_F64)
#define complex dvec2
#define FROM_WORDS(words, i) packDouble2x32(uvec2(words[2u * (i)], words[2u * (i) + 1u]))
#else
#define complex vec2
#define FROM_WORDS(words, i) uintBitsToFloat(words[i])
#endif

complex Product(complex a, complex b) {
  precise complex c;
  c.x = a.x * b.x - a.y * b.y;
  c.y = a.x * b.y + a.y * b.x;
  return c;
}
