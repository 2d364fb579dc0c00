/* SPDX-License-Identifier: Apache-2.0
 *
 * Example of an operator that assay does not have: vendor_own_operator.json defines leaky_bias, y = max(x, slope x) +
 * bias, and this backend computes it. The description of a case has the definition's names: of the operator, its
 * operands, and its attributes, which are the extents of the axes and slope.
 *
 *   assay check-plugin build/libassay_vendor_own_operator.so --operators vendor_own_operator.json \
 *             --case leaky_bias/f32/rows=5,n=33/fill=normal/seed=0
 *   assay run --plugin build/libassay_vendor_own_operator.so --operators vendor_own_operator.json \
 *             --backend vendor --op leaky_bias
 */
#include "backends/abi/assay_backend.h"

/* A plugin exports one function, which is this file's own. */
#undef ASSAY_EXPORT
#define ASSAY_EXPORT static
#define assay_backend_v1 matmul_backend
#include "vendor_backend.c"
#undef assay_backend_v1
#undef ASSAY_EXPORT
#define ASSAY_EXPORT __attribute__((visibility("default")))

/* In `shared` m is the number of rows, n that of their elements; the strides are those of x, bias and y. */
struct leaky_plan {
  assay_plan shared;
  float slope;
};

static const char* why_no_leaky_bias(const assay_op_desc* op) {
  static const char* const keys[] = {"rows", "n", "slope"};
  if (strcmp(op->op, "leaky_bias") || op->n_inputs != 2 || op->n_outputs != 1) return "only leaky_bias is offered";
  for (int i = 0; i < 3; ++i) {
    const assay_tensor_desc* t = operand(op, i);
    if (t->type_code != ASSAY_TYPE_FLOAT || t->bits != 32) return "only f32 is offered";
  }
  return assay_asks_for_more(op, keys, sizeof keys / sizeof keys[0]);
}

static assay_status query_leaky_bias(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                     assay_text* error) {
  if (why_no_leaky_bias(op) != NULL) return assay_fail(error, ASSAY_UNSUPPORTED, why_no_leaky_bias(op));
  *out = &offered;
  return ASSAY_OK;
}

static assay_status create_leaky_bias(assay_device* device, const assay_op_desc* op, const char* implementation,
                                      assay_plan** out, assay_text* error) {
  if (why_no_leaky_bias(op) || strcmp(implementation, loops.name)) {
    return assay_fail(error, ASSAY_UNSUPPORTED, "not offered");
  }
  struct leaky_plan* plan = calloc(1, sizeof *plan);
  if (plan == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
  plan->shared.m = op->inputs[0]->shape[0], plan->shared.n = op->inputs[0]->shape[1];
  for (int i = 0; i < 3; ++i) {
    const assay_tensor_desc* t = operand(op, i); /* bias has one axis, and no stride along the rows */
    for (int axis = 0; axis < t->ndim; ++axis) plan->shared.strides[i][2 - t->ndim + axis] = t->strides[axis];
  }
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    if (strcmp(op->attrs[i]->key, "slope") == 0) plan->slope = (float)op->attrs[i]->f;
  }
  *out = &plan->shared;
  return ASSAY_OK;
}

static assay_status execute_leaky_bias(assay_plan* shared, const assay_args* args, assay_text* error) {
  if (args->flags != 0) return assay_fail(error, ASSAY_UNSUPPORTED, "arguments with these flags are not known");
  const float slope = ((const struct leaky_plan*)shared)->slope;
  for (int64_t e = 0; e < shared->m * shared->n; ++e) {
    const int64_t i = e / shared->n, j = e % shared->n;
    const float x = *at(args->inputs[0], shared->strides[0], i, j);
    const float leaky = x < slope * x ? slope * x : x;
    *at(args->outputs[0], shared->strides[2], i, j) = leaky + *at(args->inputs[1], shared->strides[1], i, j);
  }
  return ASSAY_OK;
}

/* With a table of what is offered assay can say that no case of a run asks for an operator, as without --operators. */
static assay_status list_capabilities(assay_device* device, const assay_capabilities** out, assay_text* error) {
  static const assay_capability leaky = {sizeof leaky, "leaky_bias", ASSAY_TYPE_FLOAT, 32, {0}, ""};
  static const assay_capability* const lines[] = {&leaky};
  static const assay_capabilities table = {sizeof table, 1, lines};
  *out = &table;
  return ASSAY_OK;
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static assay_backend_api api;
  api = *matmul_backend(host);
  api.query = query_leaky_bias, api.plan_create = create_leaky_bias, api.execute = execute_leaky_bias;
  api.capabilities = list_capabilities;
  return &api;
}
