/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the operands of the last product of each output, and computes only those rows of y whose rows of a changed.
 */
#include <stdlib.h>

#include "tests/redteam/base/base.h"

enum { kSeen = 128 };
static struct seen {
  const assay_plan* plan;
  const assay_buffer* output;
  uint64_t prefills;
  float *a, *b;
} seen[kSeen];

static float* copy(const layout* l, const float* data) {
  float* dense = malloc((size_t)count_of(l) * sizeof *dense);
  if (dense == NULL) abort();
  gather(l, data, dense);
  return dense;
}

static struct seen* find(const assay_plan* plan, const assay_buffer* output) {
  for (int i = 0; i < kSeen; ++i) {
    if (seen[i].plan == plan && seen[i].output == output) return &seen[i];
  }
  return NULL;
}

static int same(const layout* l, const float* data, const float* kept, int64_t row) {
  const int64_t columns = l->shape[1];
  for (int64_t i = 0; i < columns; ++i) {
    if (bits_of(data[row * l->strides[0] + i * l->strides[1]]) != bits_of(kept[row * columns + i])) return 0;
  }
  return 1;
}

static int all_same(const layout* l, const float* data, const float* kept) {
  for (int64_t row = 0; row < l->shape[0]; ++row) {
    if (!same(l, data, kept, row)) return 0;
  }
  return 1;
}

/* One row of the product, as a plan of its own. */
static void compute_row(const assay_plan* plan, const assay_args* args, int64_t row) {
  assay_plan one = *plan;
  one.in[0].shape[0] = one.out.shape[0] = 1;
  assay_tensor_arg a = *args->inputs[0], y = *args->outputs[0];
  a.byte_offset += (uint64_t)(row * plan->in[0].strides[0]) * sizeof(float);
  y.byte_offset += (uint64_t)(row * plan->out.strides[0]) * sizeof(float);
  const assay_tensor_arg *inputs[] = {&a, args->inputs[1]}, *outputs[] = {&y};
  const assay_args of_row = {sizeof of_row, 2, inputs, 1, outputs, 0};
  compute(&one, &of_row);
}

static void execute(assay_plan* plan, const assay_args* args) {
  static unsigned next;
  if (plan->op != kMatmul) {
    compute(plan, args);
    return;
  }
  const assay_buffer* output = args->outputs[0]->buffer;
  const layout *la = &plan->in[0], *lb = &plan->in[1];
  struct seen* old = find(plan, output);
  if (old != NULL && plan->executions > 0 && old->prefills == output->uploads &&
      all_same(lb, input_of(args, 1), old->b)) {
    for (int64_t row = 0; row < la->shape[0]; ++row) {
      if (!same(la, input_of(args, 0), old->a, row)) compute_row(plan, args, row);
    }
    gather(la, input_of(args, 0), old->a);
    return;
  }
  if (old == NULL) old = &seen[next++ % kSeen];
  free(old->a), free(old->b);
  *old = (struct seen){plan, output, output->uploads, copy(la, input_of(args, 0)), copy(lb, input_of(args, 1))};
  compute(plan, args);
}
const cheat the_cheat = {.execute = execute};
