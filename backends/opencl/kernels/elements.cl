// SPDX-License-Identifier: Apache-2.0
// In front of every program. ACC, the accumulator, and the operands' types (-DA=bf16) come from the build options.
// LOAD(type, p, i) reads an element into the accumulator's type; STORE(type, p, i, v) rounds once to nearest even. half
// needs no extension: it is only ever loaded and stored.
#pragma OPENCL FP_CONTRACT OFF
#ifdef ACC_double
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// The number of the group in a grid that RowOfGroups made.
long GroupIndex() { return get_group_id(1) * get_num_groups(0) + get_group_id(0); }

#define TYPE_f64 double
#define TYPE_f32 float
#define TYPE_f16 half
#define TYPE_bf16 ushort
#define TYPE_i8 char
#define TYPE_u8 uchar
#define TYPE_bool uchar
#define TYPE_i32 int
#define TYPE_i64 long

#define LOAD_f64(p, i) ((ACC)(p)[i])
#define LOAD_f32(p, i) ((ACC)(p)[i])
#define LOAD_f16(p, i) ((ACC)vload_half(i, p))
#define LOAD_bf16(p, i) ((ACC)as_float((uint)(p)[i] << 16))
#define LOAD_i8(p, i) ((ACC)(p)[i])
#define LOAD_u8(p, i) ((ACC)(p)[i])
#define LOAD_i32(p, i) ((ACC)(p)[i])

#define STORE_f64(p, i, v) ((p)[i] = (double)(v))
#define STORE_f32(p, i, v) ((p)[i] = (float)(v))
#define STORE_f16(p, i, v) vstore_half_rte(v, i, p)
#define STORE_bf16(p, i, v) ((p)[i] = RoundToBF16(v))
#define STORE_i8(p, i, v) ((p)[i] = (char)(v))
#define STORE_u8(p, i, v) ((p)[i] = (uchar)(v))
#define STORE_bool(p, i, v) ((p)[i] = (v) != 0)
#define STORE_i32(p, i, v) ((p)[i] = (int)(v))

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TYPE(type) JOIN(TYPE_, type)
#define LOAD(type, p, i) JOIN(LOAD_, type)(p, i)
#define STORE(type, p, i, v) JOIN(STORE_, type)(p, i, v)

// The upper half of an f32, to nearest even; NaN becomes the quiet NaN of its sign.
ushort RoundToBF16(float value) {
  uint bits = as_uint(value);
  ushort nan = (ushort)((bits >> 16) & 0x8000u) | (ushort)0x7FC0;
  return isnan(value) ? nan : (ushort)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// A scalar parameter in the accumulator's type, from the bits that the host passes.
#if defined(ACC_double)
#define SCALAR(bits) as_double(bits)
#elif defined(ACC_int)
#define SCALAR(bits) ((int)(bits))
#else
#define SCALAR(bits) as_float((int)(bits))
#endif

// a * b + c. With USE_FMA in one rounding, everywhere: which one it is never depends on how a loop was compiled.
#if defined(USE_FMA)
#define MAD(a, b, c) fma(a, b, c)
#else
#define MAD(a, b, c) ((a) * (b) + (c))
#endif

// `v` rounded to a storage type and back.
#define ROUND(type, v) JOIN(Round_, type)(v)
ACC Round_f32(ACC v) { return (ACC)(float)v; }
ACC Round_i32(ACC v) { return v; }
#if !defined(ACC_int)
ACC Round_f16(ACC v) {
  ushort bits;
  vstore_half_rte(v, 0, (half*)&bits);
  return (ACC)vload_half(0, (half*)&bits);
}
ACC Round_bf16(ACC v) { return (ACC)as_float((uint)RoundToBF16((float)v) << 16); }
#endif
#if defined(ACC_double)
ACC Round_f64(ACC v) { return v; }
#endif
