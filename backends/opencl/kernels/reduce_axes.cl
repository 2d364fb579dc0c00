// SPDX-License-Identifier: Apache-2.0
// The axes of a reduction, for the files behind this one. Kinds count as ReduceKind does on the host. The kernels come in
// two forms: `sequential` gives each output one item, which reads in row-major order; `tree` gives it a group, whose items
// read every GROUP-th element.
enum { kSum, kMean, kMax, kMin, kProd, kL2, kArgMax, kArgMin, kLogSumExp };

#define AXES 8
typedef struct {
  long kind, skips_nan, outputs, count, kept_axes, reduced_axes;
  long kept_size[AXES], kept_in[AXES], kept_out[AXES], reduced_size[AXES], reduced_in[AXES];
} Params;

// Offset in x of the element with row-major index `index` over the reduced axes.
long ReducedOffset(const Params* p, long index) {
  long offset = 0;
  for (int axis = (int)p->reduced_axes - 1; axis > 0; --axis) {
    const long size = p->reduced_size[axis], next = index / size;
    offset += (index - next * size) * p->reduced_in[axis];
    index = next;
  }
  return offset + index * p->reduced_in[0];
}

void KeptOffsets(const Params* p, long index, long* in, long* out) {
  for (int axis = (int)p->kept_axes - 1; axis >= 0; --axis) {
    const long size = p->kept_size[axis], next = index / size;
    *in += (index - next * size) * p->kept_in[axis];
    *out += (index - next * size) * p->kept_out[axis];
    index = next;
  }
}
