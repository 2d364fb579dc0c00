// SPDX-License-Identifier: Apache-2.0
// Pairs of elements, the halves of each head, turned by an angle; an item per pair. Types X, T of the tables, and Y.
typedef struct {
  long l, h, half_d, pairs, back;
  long x_step[4], y_step[4], cos_step[2], sin_step[2];
} Params;

kernel void turn(const global TYPE(X)* x, long x_at, const global TYPE(T)* cosines, long cos_at,
                 const global TYPE(T)* sines, long sin_at, global TYPE(Y)* y, long y_at, Params p) {
  const long i = GroupIndex() * get_local_size(0) + get_local_id(0);
  if (i >= p.pairs) return;
  const long pair = i % p.half_d, head = i / p.half_d % p.h, place = i / p.half_d / p.h % p.l;
  const long batch = i / p.half_d / p.h / p.l;
  const ACC c = LOAD(T, cosines, cos_at + place * p.cos_step[0] + pair * p.cos_step[1]);
  const ACC of_table = LOAD(T, sines, sin_at + place * p.sin_step[0] + pair * p.sin_step[1]);
  const ACC s = p.back ? -of_table : of_table;
  x += x_at + batch * p.x_step[0] + place * p.x_step[1] + head * p.x_step[2] + pair * p.x_step[3];
  y += y_at + batch * p.y_step[0] + place * p.y_step[1] + head * p.y_step[2] + pair * p.y_step[3];
  const ACC first = LOAD(X, x, 0), second = LOAD(X, x, p.half_d * p.x_step[3]);
  STORE(Y, y, 0, first * c - second * s);
  STORE(Y, y, p.half_d * p.y_step[3], second * c + first * s);
}
