/* SPDX-License-Identifier: Apache-2.0
 *
 * Declares det=yes, and sums every other time from the other end.
 */
#include "tests/redteam/base/base.h"

static void reverse(layout* l, int axis, assay_tensor_arg* arg) {
  arg->byte_offset += (uint64_t)((l->shape[axis] - 1) * l->strides[axis]) * sizeof(float);
  l->strides[axis] = -l->strides[axis];
}

static void execute(assay_plan* plan, const assay_args* args) {
  assay_plan other = *plan;
  assay_tensor_arg inputs[kMaxInputs];
  const assay_tensor_arg* pointers[kMaxInputs];
  for (int i = 0; i < plan->n_inputs; ++i) inputs[i] = *args->inputs[i], pointers[i] = &inputs[i];
  if (plan->executions % 2 != 0 && plan->op == kMatmul) {
    reverse(&other.in[0], 1, &inputs[0]);
    reverse(&other.in[1], 0, &inputs[1]);
  }
  const assay_args turned = {sizeof turned, args->n_inputs, pointers, 1, args->outputs, 0};
  compute(&other, &turned);
}
const cheat the_cheat = {.execute = execute};
