/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether an operator is y = a b in f32, neither transposed nor scaled: a loop that knows nothing else may take it.
 */
#pragma once

#include <string.h>

#include "backends/abi/assay_backend.h"

static inline int is_plain(const assay_op_desc* op) {
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    const assay_attr* attr = op->attrs[i];
    if (strncmp(attr->key, "trans", 5) == 0 && attr->i != 0) return 0;
    if (strcmp(attr->key, "alpha") == 0 && attr->f != 1) return 0;
  }
  return 1;
}
static inline int is_matmul_f32(const assay_op_desc* op) {
  return is_plain(op) && strcmp(op->op, "matmul") == 0 && op->n_inputs == 2 && op->n_outputs == 1 &&
         op->inputs[0]->type_code == ASSAY_TYPE_FLOAT && op->inputs[0]->bits == 32 && op->inputs[0]->ndim == 2;
}
