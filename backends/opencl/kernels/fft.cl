// SPDX-License-Identifier: Apache-2.0
// The ways between a case's operands, of any strides, and the dense complex field [batch, n0, n1, n2] that is
// transformed in place. A real input gets zero imaginary parts; half a spectrum is completed by its mirror image. An
// inverse transform is the forward one between conjugations: the field is only ever transformed forwards.
enum { kC2C, kR2C, kC2R };

typedef struct {
  long points, outputs;            // of the field, and of y, per transform
  long n[3], x_size[3], y_size[3];  // the last extent of half a spectrum is n / 2 + 1
  long x_batch, x[3], y_batch, y[3], scaled, scale;
  long kind, inverse;  // kind counts as FftKind does on the host
} Params;

void Split(const long* extents, long index, long at[3]) {
  for (int axis = 2; axis > 0; --axis) {
    const long next = index / extents[axis];
    at[axis] = index - next * extents[axis];
    index = next;
  }
  at[0] = index;
}

// Global size (at least points, batch).
kernel void gather(const global ACC* x, long x_at, global ACC* field, long field_at, Params p) {
  const long i = get_global_id(0);
  if (i >= p.points) return;
  long at[3];
  Split(p.n, i, at);
  const bool mirrored = at[2] >= p.x_size[2];
  long offset = x_at + get_global_id(1) * p.x_batch;
  for (int axis = 0; axis < 3; ++axis) offset += (mirrored ? (p.n[axis] - at[axis]) % p.n[axis] : at[axis]) * p.x[axis];
  global ACC* to = field + 2 * (field_at + get_global_id(1) * p.points + i);
  if (p.kind == kR2C) {
    to[0] = x[offset], to[1] = 0;
  } else {
    to[0] = x[2 * offset], to[1] = mirrored != (p.inverse != 0) ? -x[2 * offset + 1] : x[2 * offset + 1];
  }
}

// Global size (at least outputs, batch).
kernel void scatter(const global ACC* field, long field_at, global ACC* y, long y_at, Params p) {
  const long i = get_global_id(0);
  if (i >= p.outputs) return;
  long at[3];
  Split(p.y_size, i, at);
  const long point = (at[0] * p.n[1] + at[1]) * p.n[2] + at[2];
  const global ACC* from = field + 2 * (field_at + get_global_id(1) * p.points + point);
  const long offset = y_at + get_global_id(1) * p.y_batch + at[0] * p.y[0] + at[1] * p.y[1] + at[2] * p.y[2];
  const ACC re = p.scaled ? from[0] * SCALAR(p.scale) : from[0];
  const ACC im = p.scaled ? from[1] * SCALAR(p.scale) : from[1];
  if (p.kind == kC2R) {
    y[offset] = re;
  } else {
    y[2 * offset] = re, y[2 * offset + 1] = p.inverse ? -im : im;
  }
}
