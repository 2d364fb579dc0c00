/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tests/redteam/base/base.h"

float* data_of(const assay_tensor_arg* arg) {
  return (float*)(void*)(arg->buffer->bytes + arg->byte_offset);
}
float* output_of(const assay_args* args) {
  return data_of(args->outputs[0]);
}
float* second_of(const assay_args* args) {
  return data_of(args->outputs[1]);
}
float* input_of(const assay_args* args, int i) {
  return data_of(args->inputs[i]);
}

int64_t count_of(const layout* l) {
  int64_t count = 1;
  for (int i = 0; i < l->rank; ++i) count *= l->shape[i];
  return count;
}

int64_t offset_in(const layout* l, unsigned mask, int64_t index) {
  int64_t offset = 0;
  for (int i = l->rank; i-- > 0;) {
    if ((mask >> i & 1) == 0) continue;
    offset += index % l->shape[i] * l->strides[i];
    index /= l->shape[i];
  }
  return offset;
}
int64_t offset_of(const layout* l, int64_t index) {
  return offset_in(l, ~0u, index);
}

int is_dense(const layout* l) {
  int64_t stride = 1;
  for (int i = l->rank; i-- > 0; stride *= l->shape[i]) {
    if (l->strides[i] != stride) return 0;
  }
  return 1;
}

void gather(const layout* l, const float* data, float* dense) {
  if (is_dense(l))
    memcpy(dense, data, (size_t)count_of(l) * sizeof *dense);
  else
    for (int64_t i = 0; i < count_of(l); ++i) dense[i] = data[offset_of(l, i)];
}
void scatter(const layout* l, const float* dense, float* data) {
  if (is_dense(l))
    memcpy(data, dense, (size_t)count_of(l) * sizeof *dense);
  else
    for (int64_t i = 0; i < count_of(l); ++i) data[offset_of(l, i)] = dense[i];
}

uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

uint64_t hash_inputs(const assay_plan* plan, const assay_args* args, int64_t step) {
  uint64_t hash = 0;
  for (int input = 0; input < plan->n_inputs; ++input) {
    const layout* l = &plan->in[input];
    const float* data = input_of(args, input);
    const int dense = is_dense(l);
    for (int64_t i = 0; i < count_of(l); i += step) {
      /* A sum, so that the elements need not wait for each other. */
      hash += (uint64_t)(bits_of(data[dense ? i : offset_of(l, i)]) ^ 0x9E3779B9u) * (2 * (uint64_t)i + 0x7FB5D329u);
    }
    hash *= UINT64_C(0x9E3779B97F4A7C15);
  }
  return hash;
}
