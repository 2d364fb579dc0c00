// SPDX-License-Identifier: Apache-2.0
// Numbers as codes of a byte and back, an item per element. Types X, Z of the codes of zero (with HAS_ZERO), and Y.
typedef struct {
  long rows, n, x_row, x_step, y_row, y_step, scale_row, scale_step, zero_row, zero_step, zero, low, high;
} Params;

#define ARGUMENTS                                                                                              \
  const global TYPE(X)*x, long x_at, const global float *scale, long scale_at, const global TYPE(Z) * zero, \
      long zero_at, global TYPE(Y) * y, long y_at, Params p

// The element and its factors of an item; items beyond the last element return.
#define PLACE()                                                                             \
  const long i = GroupIndex() * get_local_size(0) + get_local_id(0);                        \
  if (i >= p.rows * p.n) return;                                                            \
  const long row = i / p.n, at = i - row * p.n, to = y_at + row * p.y_row + at * p.y_step;  \
  const long from = x_at + row * p.x_row + at * p.x_step;                                   \
  const float factor = scale[scale_at + row * p.scale_row + at * p.scale_step];             \
  const float code = HAS_ZERO ? LOAD(Z, zero, zero_at + row * p.zero_row + at * p.zero_step) : (float)p.zero

// The nearest integer, of two the even one, within the type; any for NaN.
float Code(float value, Params p) { return clamp(rint(value), (float)p.low, (float)p.high); }

kernel void quantize(ARGUMENTS) {
  PLACE();
  STORE(Y, y, to, Code(LOAD(X, x, from) / factor + code, p));
}

kernel void requantize(ARGUMENTS) {
  PLACE();
  STORE(Y, y, to, Code(LOAD(X, x, from) * factor + code, p));
}

kernel void dequantize(ARGUMENTS) {
  PLACE();
  STORE(Y, y, to, (LOAD(X, x, from) - code) * factor);
}
