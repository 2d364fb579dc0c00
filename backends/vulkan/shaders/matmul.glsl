// SPDX-License-Identifier: Apache-2.0
// Operands and epilogue of y = alpha A B + beta c + bias, shared by the matmul kernels.
layout(set = 0, binding = 0, std140) uniform Params {
  uint m, n, k, batch;
  uint a_batch, a_row, a_column, b_batch, b_row, b_column;
  uint y_batch, y_row, y_column, c_batch, c_row, c_column, bias_column;
  uint flags;  // kScaled, kRounded, kAddend, kBias
  real alpha, beta;
} p;

const uint kScaled = 1, kRounded = 2, kAddend = 4, kBias = 8;

READS(1, a)
READS(2, b)
READS(3, c)
READS(4, bias)
WRITES(5, y)

// Applies the epilogue to the sum of products of one output, and stores it.
void Finish(uint batch, uint row, uint column, real sum) {
  const uint flags = Opaque(p.flags);
  precise real value = sum;
  if ((flags & kScaled) != 0) value = p.alpha * value;
  if ((flags & kRounded) != 0) value = RoundedTo(TYPE_5, value);
  if ((flags & kAddend) != 0) {
    value += p.beta * Load_c(batch * p.c_batch + row * p.c_row + column * p.c_column);
  }
  if ((flags & kBias) != 0) value += Load_bias(column * p.bias_column);
  Store_y(batch * p.y_batch + row * p.y_row + column * p.y_column, value);
}
