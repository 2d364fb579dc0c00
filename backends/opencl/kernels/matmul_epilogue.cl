// SPDX-License-Identifier: Apache-2.0
// y = alpha A B + beta c + bias for operands with any strides: what follows the product, for the files behind this one.
// Types C (addend), V (bias) and Y.
typedef struct {
  long m, n, k, batch, parts, part;  // `part`: extent of k in one part
  long a_batch, a_row, a_column, b_batch, b_row, b_column;
  long c_batch, c_row, c_column, bias_column, y_batch, y_row, y_column;
  long has_c, has_bias, rounded, one, alpha, beta;  // the last three as SCALAR() reads them
  long b_along_k;  // how tiles are loaded
} Params;

// The operands behind the product: each comes with the offset of its element zero.
typedef struct {
  const global TYPE(C)* c;
  const global TYPE(V)* bias;
  global TYPE(Y)* y;
} Addends;

void Finish(const Params* p, const Addends* at, long batch, long row, long column, ACC value) {
  if (p->alpha != p->one) value *= SCALAR(p->alpha);
  if (p->rounded) value = ROUND(Y, value);
  if (p->has_c) {
    const ACC c = LOAD(C, at->c, batch * p->c_batch + row * p->c_row + column * p->c_column);
    value = MAD(SCALAR(p->beta), c, value);
  }
  if (p->has_bias) value += LOAD(V, at->bias, column * p->bias_column);
  STORE(Y, at->y, batch * p->y_batch + row * p->y_row + column * p->y_column, value);
}
