// SPDX-License-Identifier: Apache-2.0
// Element types: every operand is read as 32-bit words, and its type is a specialization constant, so that one module
// serves all combinations. f16 and bf16 are converted as integers, rounded to nearest even, subnormals included: what
// the device does with 16-bit floats does not matter. `real` is the type of the computation.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#if defined(VARIANT_F32STORE16)
#extension GL_EXT_shader_16bit_storage : require
#endif

#if defined(VARIANT_F64)
#define real double
#elif defined(VARIANT_I32)
#define real int
#else
#define real float
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint TYPE_1 = 0;
layout(constant_id = 2) const uint TYPE_2 = 0;
layout(constant_id = 3) const uint TYPE_3 = 0;
layout(constant_id = 4) const uint TYPE_4 = 0;
layout(constant_id = 5) const uint TYPE_5 = 0;
layout(constant_id = 6) const uint TYPE_6 = 0;

layout(push_constant) uniform Push {
  uint base[6];  // of each operand, in elements
  uint groups;
} push;

const uint kF32 = 0, kF16 = 1, kBF16 = 2, kF64 = 3, kI8 = 4, kI32 = 5, kI64 = 6, kU8 = 7;

// The workgroup's number; those from push.groups on have no work and return at once (a plan's first, empty dispatch
// counts on that).
uint Group() {
  return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

// A value of the parameters that decides a branch or a loop, plus 0: grids are flat. Some drivers (lavapipe) look for
// branches that parameters alone decide, and compile the kernel anew, at a dispatch, for the values that they have then.
uint Opaque(uint x) {
  return x + gl_WorkGroupID.z;
}

// The float bits of a half. A subnormal half is its significand times 2^-24, which is normal in f32.
uint HalfToFloatBits(uint h) {
  const uint sign = (h & 0x8000u) << 16, magnitude = h & 0x7FFFu;
  if (magnitude >= 0x7C00u) return sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13);
  if (magnitude >= 0x400u) return sign | ((magnitude + (112u << 10)) << 13);
  return sign | floatBitsToUint(float(magnitude) * 5.9604644775390625e-8);
}

uint RoundShift(uint bits, uint shift) {
  const uint rest = bits & ((1u << shift) - 1u), half_way = 1u << (shift - 1u), kept = bits >> shift;
  return kept + uint(rest > half_way || (rest == half_way && (kept & 1u) != 0u));
}

uint FloatToHalfBits(uint f) {
  const uint sign = f >> 16 & 0x8000u, magnitude = f & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7E00u;
  if (magnitude >= 0x47800000u) return sign | 0x7C00u;  // 65536 and more
  if (magnitude >= 0x38800000u) return sign | (RoundShift(magnitude, 13) - (112u << 10));
  if (magnitude < 0x33000000u) return sign;  // below half the smallest subnormal
  return sign | RoundShift(magnitude & 0x7FFFFFu | 0x800000u, 126u - (magnitude >> 23));
}

uint FloatToBFloatBits(uint f) {
  if ((f & 0x7FFFFFFFu) > 0x7F800000u) return f >> 16 & 0x8000u | 0x7FC0u;
  return f + 0x7FFFu + (f >> 16 & 1u) >> 16;
}

// Element i of type `type`, whose words w0 (and w1 for 64 bits) start at word WordOf(type, i).
uint WordOf(uint type, uint i) {
  if (type == kF64 || type == kI64) return 2 * i;
  if (type == kF16 || type == kBF16) return i >> 1;
  if (type == kI8 || type == kU8) return i >> 2;
  return i;
}

uint HalfOf(uint word, uint i) {
  return (i & 1u) != 0u ? word >> 16 : word & 0xFFFFu;
}

int ByteOf(uint word, uint i) {
  return bitfieldExtract(int(word), int(8u * (i & 3u)), 8);
}

#if defined(VARIANT_I32)
int FromWord(uint type, uint word, uint i) {
  return type == kI8 ? ByteOf(word, i) : int(word);
}
#else
float FromWord(uint type, uint word, uint i) {
  if (type == kF16) return uintBitsToFloat(HalfToFloatBits(HalfOf(word, i)));
  if (type == kBF16) return uintBitsToFloat(HalfOf(word, i) << 16);
  if (type == kI8) return float(ByteOf(word, i));
  if (type == kU8) return float(word >> 8u * (i & 3u) & 0xFFu);
  if (type == kI32) return float(int(word));
  return uintBitsToFloat(word);
}
// The float as a 16-bit element.
uint ToHalf(uint type, float x) {
  const uint bits = floatBitsToUint(x);
  return type == kF16 ? FloatToHalfBits(bits) : FloatToBFloatBits(bits);
}
#endif

// Rounded to `type` and back.
real RoundedTo(uint type, real x) {
#if defined(VARIANT_F32STORE16)
  if (type != kF32) return FromWord(type, ToHalf(type, x), 0u);
#endif
  return x;
}

// READS(slot, NAME) declares x_words and Load_x(index); WRITES(slot, NAME) declares Store_y(index, value).
#if defined(VARIANT_F64)
#define READS(slot, NAME)                                                                            \
  layout(set = 0, binding = slot, std430) readonly buffer NAME##_block { uint NAME##_words[]; };        \
  double Load_##NAME(uint index) {                                                                   \
    const uint i = push.base[slot - 1] + index;                                                   \
    if (TYPE_##slot == kI8) return double(ByteOf(NAME##_words[i >> 2], i));                          \
    return packDouble2x32(uvec2(NAME##_words[2 * i], NAME##_words[2 * i + 1]));                         \
  }
#define WRITES(slot, NAME)                                                                           \
  layout(set = 0, binding = slot, std430) writeonly buffer NAME##_block { uint NAME##_words[]; };       \
  void Store_##NAME(uint index, double value) {                                                      \
    const uint i = push.base[slot - 1] + index;                                                   \
    const uvec2 words = unpackDouble2x32(value);                                                  \
    NAME##_words[2 * i] = words.x, NAME##_words[2 * i + 1] = words.y;                                   \
  }
#else
#define READS(slot, NAME)                                                                            \
  layout(set = 0, binding = slot, std430) readonly buffer NAME##_block { uint NAME##_words[]; };        \
  real Load_##NAME(uint index) {                                                                     \
    const uint i = push.base[slot - 1] + index;                                                   \
    return FromWord(TYPE_##slot, NAME##_words[WordOf(TYPE_##slot, i)], i);                           \
  }
#if defined(VARIANT_F32STORE16)
#define WRITES(slot, NAME)                                                                           \
  layout(set = 0, binding = slot, std430) writeonly buffer NAME##_block { uint16_t NAME##_halves[]; };  \
  void Store_##NAME(uint index, float value) {                                                       \
    NAME##_halves[push.base[slot - 1] + index] = uint16_t(ToHalf(TYPE_##slot, value));               \
  }
#elif defined(VARIANT_I32)
#define WRITES(slot, NAME)                                                                           \
  layout(set = 0, binding = slot, std430) writeonly buffer NAME##_block { uint NAME##_words[]; };       \
  void Store_##NAME(uint index, int value) { NAME##_words[push.base[slot - 1] + index] = uint(value); }
#else
#define WRITES(slot, NAME)                                                                           \
  layout(set = 0, binding = slot, std430) writeonly buffer NAME##_block { uint NAME##_words[]; };       \
  void Store_##NAME(uint index, float value) {                                                       \
    NAME##_words[push.base[slot - 1] + index] = floatBitsToUint(value);                              \
  }
#endif
#endif

// WRITES_BYTES(slot, NAME) declares Store_q(index, value) of an element of 8 bits; other invocations store to the same word.
#define WRITES_BYTES(slot, NAME)                                                                     \
  layout(set = 0, binding = slot, std430) buffer NAME##_block { uint NAME##_words[]; };                 \
  void Store_##NAME(uint index, int value) {                                                         \
    const uint i = push.base[slot - 1] + index, shift = 8u * (i & 3u);                            \
    atomicAnd(NAME##_words[i >> 2], ~(0xFFu << shift));                                              \
    atomicOr(NAME##_words[i >> 2], (uint(value) & 0xFFu) << shift);                                  \
  }

// Copies a register array into one that a loop addresses at run time. An epilogue that runs once per tile is such a loop:
// unrolled, its many copies would take longer to compile than the rest of the kernel.
#define ADDRESSABLE(copy, array, size) \
  real copy[size];                     \
  [[unroll]] for (uint i_ = 0; i_ < size; ++i_) copy[i_] = array[i_]

// Rotates values through the lanes of a subgroup, so that each lane sees those of all lanes: an unrolled body takes the
// values of the first `steps` lanes by shuffles with constant indices, then all values move on by as many lanes.
#define ROTATE(array, size, lanes, steps)                                                        \
  if (steps < lanes) {                                                                           \
    const uint from_ = (gl_SubgroupInvocationID + steps) % lanes;                                \
    [[unroll]] for (uint i_ = 0; i_ < size; ++i_) array[i_] = subgroupShuffle(array[i_], from_); \
  }

// One product added. Contracted or not by the device, but never differently in two places.
#if defined(VARIANT_I32)
real MultiplyAdd(real a, real b, real c) {
  return a * b + c;
}
#else
real MultiplyAdd(real a, real b, real c) {
  precise real sum = a * b + c;
  return sum;
}
#endif
