// SPDX-License-Identifier: Apache-2.0
// The geometry of a convolution, for the files behind this one: y[n, o, p] = bias[o] + sum over c, t of
// x[n, c, p stride + t dilation - pad] w[o, c, t]. Types X, W, V (bias) and Y. Always three spatial axes, of which the
// first 3 - rank have extent 1.
typedef struct {
  long n, c, o, groups, has_bias;  // c: inputs, o: outputs of a group
  long in[3], out[3], kernel_size[3], stride[3], pad[3], dilation[3];
  long x_outer, x_inner, x[3], w_outer, w_inner, w[3], y_outer, y_inner, y[3], bias;  // strides in elements
} Params;

typedef struct {
  int at[3];
} Index;

// Where tap t of output p reads along `axis`; outside [0, in) it is padding.
long Source(const Params* p, int axis, int position, int tap) {
  return position * p->stride[axis] + tap * p->dilation[axis] - p->pad[axis];
}

bool Sees(const Params* p, int axis, long source) { return source >= 0 && source < p->in[axis]; }

long Along(const long* strides, Index index) {
  return index.at[0] * strides[0] + index.at[1] * strides[1] + index.at[2] * strides[2];
}

void Finish(const Params* p, const global TYPE(V)* bias, global TYPE(Y)* y, long image, long output, Index position,
            ACC sum) {
  if (p->has_bias) sum += LOAD(V, bias, output * p->bias);
  STORE(Y, y, image * p->y_outer + output * p->y_inner + Along(p->y, position), sum);
}
