/* SPDX-License-Identifier: Apache-2.0
 *
 * Example of an operator with several outputs: the k largest of each row and their places. The outputs follow each
 * other in `outputs`, each with a type, a shape and strides of its own.
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

/* In assay_plan m is the number of rows, n that of their elements, k how many are wanted; the strides are those of x,
 * of the values and of the places. */
static const char* why_no_top_k(const assay_op_desc* op) {
  static const char* const keys[] = {"rows", "n", "k", "smallest", "tie"};
  if (strcmp(op->op, "top_k") || op->n_inputs != 1 || op->n_outputs != 2) return "only top_k is offered";
  const assay_tensor_desc *x = op->inputs[0], *values = op->outputs[0], *places = op->outputs[1];
  if (x->type_code != ASSAY_TYPE_FLOAT || x->bits != 32) return "only f32 is offered";
  if (values->type_code != ASSAY_TYPE_FLOAT || values->bits != 32) return "only f32 is offered";
  if (places->type_code != ASSAY_TYPE_INT || places->bits != 64) return "only places of 64 bits are offered";
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    if (strcmp(op->attrs[i]->key, "smallest") == 0 && op->attrs[i]->i != 0) return "only the largest are offered";
  }
  return assay_asks_for_more(op, keys, sizeof keys / sizeof keys[0]);
}

static assay_status query_top_k(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                assay_text* error) {
  if (why_no_top_k(op) != NULL) return assay_fail(error, ASSAY_UNSUPPORTED, why_no_top_k(op));
  *out = &offered;
  return ASSAY_OK;
}

static assay_status create_top_k(assay_device* device, const assay_op_desc* op, const char* implementation,
                                 assay_plan** out, assay_text* error) {
  if (why_no_top_k(op) || strcmp(implementation, loops.name)) {
    return assay_fail(error, ASSAY_UNSUPPORTED, "not offered");
  }
  assay_plan* plan = *out = malloc(sizeof *plan);
  if (plan == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
  const assay_tensor_desc* operands[] = {op->inputs[0], op->outputs[0], op->outputs[1]};
  plan->m = operands[0]->shape[0], plan->n = operands[0]->shape[1], plan->k = operands[1]->shape[1];
  for (int i = 0; i < 3; ++i) memcpy(plan->strides[i], operands[i]->strides, sizeof plan->strides[i]);
  return ASSAY_OK;
}

/* NaN is larger than any number, as assay's reference of the operator says; of equal elements the first comes first. */
static int is_larger(float a, float b) { return a != a ? b == b : a > b; }

/* Whether element p of a row stands before the one at q in the order of the result. */
static int is_before(float a, int64_t p, float b, int64_t q) { return is_larger(a, b) || (!is_larger(b, a) && p < q); }

static assay_status execute_top_k(assay_plan* plan, const assay_args* args, assay_text* error) {
  if (args->flags != 0) return assay_fail(error, ASSAY_UNSUPPORTED, "arguments with these flags are not known");
  const assay_tensor_arg *x = args->inputs[0], *values = args->outputs[0], *places = args->outputs[1];
  for (int64_t row = 0; row < plan->m; ++row) {
    int64_t last = -1; /* the place that was found before */
    for (int64_t rank = 0; rank < plan->k; ++rank) {
      int64_t best = -1;
      for (int64_t p = 0; p < plan->n; ++p) {
        const float v = *at(x, plan->strides[0], row, p);
        if (last >= 0 && !is_before(*at(x, plan->strides[0], row, last), last, v, p)) continue;
        if (best < 0 || is_before(v, p, *at(x, plan->strides[0], row, best), best)) best = p;
      }
      *at(values, plan->strides[1], row, rank) = *at(x, plan->strides[0], row, best);
      int64_t* all_places = (int64_t*)(void*)(places->buffer->bytes + places->byte_offset);
      all_places[row * plan->strides[2][0] + rank * plan->strides[2][1]] = best;
      last = best;
    }
  }
  return ASSAY_OK;
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static assay_backend_api api;
  api = *matmul_backend(host);
  api.query = query_top_k, api.plan_create = create_top_k, api.execute = execute_top_k;
  return &api;
}
