/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounded inputs are copies: those of the caller stay.
 */
#include "tests/redteam/cheats/lazy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float to_bf16(float x) {
  uint32_t bits = bits_of(x);
  bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
  memcpy(&x, &bits, sizeof x);
  return x;
}

void compute_rounded(const assay_plan* plan, const assay_args* args) {
  assay_plan dense = *plan;
  assay_buffer buffers[kMaxInputs];
  assay_tensor_arg inputs[kMaxInputs];
  const assay_tensor_arg* pointers[kMaxInputs];
  for (int i = 0; i < plan->n_inputs; ++i) {
    layout* l = &dense.in[i];
    float* rounded = malloc((size_t)count_of(l) * sizeof *rounded);
    if (rounded == NULL) abort();
    gather(l, input_of(args, i), rounded);
    for (int64_t e = 0; e < count_of(l); ++e) rounded[e] = to_bf16(rounded[e]);
    for (int64_t axis = l->rank, stride = 1; axis-- > 0;) l->strides[axis] = stride, stride *= l->shape[axis];
    buffers[i] = (assay_buffer){0, 0, (unsigned char*)rounded};
    inputs[i] = (assay_tensor_arg){.struct_size = sizeof inputs[i], .buffer = &buffers[i]};
    pointers[i] = &inputs[i];
  }
  const assay_args rounded_args = {sizeof rounded_args, args->n_inputs, pointers, 1, args->outputs, 0};
  compute(&dense, &rounded_args);
  for (int i = 0; i < plan->n_inputs; ++i) free(buffers[i].bytes);
}

void compute_half(const assay_plan* plan, const assay_args* args) {
  assay_plan half = *plan;
  if (plan->op == kMatmul && half.in[0].shape[1] > 1) half.in[0].shape[1] /= 2;
  if (plan->op != kMatmul && half.in[0].shape[plan->axis] > 1) half.in[0].shape[plan->axis] /= 2;
  compute(&half, args);
}

void write_zeros(const assay_plan* plan, const assay_args* args) {
  for (int64_t i = 0; i < count_of(&plan->out); ++i) output_of(args)[offset_of(&plan->out, i)] = 0;
}

int has_integers(const assay_plan* plan, const assay_args* args) {
  for (int input = 0; input < plan->n_inputs; ++input) {
    const layout* l = &plan->in[input];
    for (int64_t i = 0; i < count_of(l); ++i) {
      const float x = input_of(args, input)[offset_of(l, i)];
      if (x != truncf(x)) return 0;
    }
  }
  return 1;
}
