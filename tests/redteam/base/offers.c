/* SPDX-License-Identifier: Apache-2.0
 *
 * Offers of the honest backend: dense or strided f32 of rank 1 to 4, and the operators in kernels.c.
 */
#include <string.h>

#include "tests/redteam/base/base.h"

static const char* describe_tensor(const assay_tensor_desc* desc, layout* out) {
  if (desc->type_code != ASSAY_TYPE_FLOAT || desc->bits != 32) return "only f32 is offered";
  if (desc->alias != 0 || desc->flags != 0 || desc->reserved != 0) return "aliases and flags are not offered";
  if (desc->ndim < 1 || desc->ndim > kMaxRank) return "only ranks 1 to 4 are offered";
  out->rank = desc->ndim;
  for (int i = 0; i < desc->ndim; ++i) {
    if (desc->shape[i] < 1) return "empty tensors are not offered";
    out->shape[i] = desc->shape[i], out->strides[i] = desc->strides[i];
  }
  return NULL;
}

static int is(const assay_attr* attr, const char* key) {
  return strcmp(attr->key, key) == 0;
}

static void transpose(layout* l) {
  const int64_t extent = l->shape[0], stride = l->strides[0];
  l->shape[0] = l->shape[1], l->strides[0] = l->strides[1];
  l->shape[1] = extent, l->strides[1] = stride;
}

static const char* describe_matmul(const assay_op_desc* op, assay_plan* plan) {
  plan->op = kMatmul;
  if (op->n_inputs != 2 || plan->in[0].rank != 2 || plan->in[1].rank != 2 || plan->out.rank != 2) {
    return "only y = a b of two matrices is offered";
  }
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    const assay_attr* attr = op->attrs[i];
    if (is(attr, "m") || is(attr, "n") || is(attr, "k")) continue; /* the shapes say so too */
    if (is(attr, "batch") && attr->i == 1) continue;
    if (is(attr, "transa") || is(attr, "transb")) {
      if (attr->i != 0) transpose(&plan->in[is(attr, "transb")]);
      continue;
    }
    if (is(attr, "alpha") && attr->f == 1) continue;
    if ((is(attr, "beta") && attr->f == 0) || (is(attr, "bias") && attr->i == 0)) continue;
    if (is(attr, "epilogue") && strcmp(attr->s, "fused") == 0) continue;
    if ((attr->flags & ASSAY_ATTR_OPTIONAL) == 0) return "an attribute of this product is not offered";
  }
  return NULL;
}

static const char* describe_axis(assay_plan* plan, int64_t axis) {
  plan->axis = (int)(axis < 0 ? axis + plan->in[0].rank : axis);
  return plan->axis >= 0 && plan->axis < plan->in[0].rank ? NULL : "the axis is outside of the shape";
}

static const char* describe_softmax(const assay_op_desc* op, assay_plan* plan) {
  const char* why = NULL;
  plan->op = kSoftmax;
  if (op->n_inputs != 1 || plan->out.rank != plan->in[0].rank) return "only one input and an output like it";
  for (uint64_t i = 0; i < op->n_attrs && why == NULL; ++i) {
    const assay_attr* attr = op->attrs[i];
    if (is(attr, "shape") || (is(attr, "log") && attr->i == 0)) continue;
    if (is(attr, "axis")) {
      why = describe_axis(plan, attr->i);
    } else if ((attr->flags & ASSAY_ATTR_OPTIONAL) == 0) {
      why = "only softmax itself is offered, not its logarithm";
    }
  }
  return why;
}

static const char* describe_reduce(const assay_op_desc* op, assay_plan* plan) {
  const char* why = NULL;
  plan->op = kReduceSum;
  if (op->n_inputs != 1) return "only one input is offered";
  for (uint64_t i = 0; i < op->n_attrs && why == NULL; ++i) {
    const assay_attr* attr = op->attrs[i];
    if (is(attr, "shape") || is(attr, "keepdims") || is(attr, "tie")) continue;
    if (is(attr, "nan") && strcmp(attr->s, "propagate") == 0) continue;
    if (is(attr, "axes")) {
      why = attr->count == 1 ? describe_axis(plan, attr->ints[0]) : "only one reduced axis is offered";
    } else if (is(attr, "kind") && strcmp(attr->s, "sum") == 0) {
      plan->op = kReduceSum;
    } else if (is(attr, "kind") && strcmp(attr->s, "mean") == 0) {
      plan->op = kReduceMean;
    } else if (is(attr, "kind") && strcmp(attr->s, "max") == 0) {
      plan->op = kReduceMax;
    } else if ((attr->flags & ASSAY_ATTR_OPTIONAL) == 0) {
      why = "only sum, mean and max are offered";
    }
  }
  return why;
}

static const char* describe_add_rms_norm(const assay_op_desc* op, assay_plan* plan) {
  enum { kResidualsPlace = 2 }; /* the number of the input, plus 1 */
  plan->op = kAddRmsNorm;
  if (op->n_inputs != 3 || op->n_outputs != 2) return "it has three inputs and two outputs";
  const uint32_t place = op->outputs[1]->alias;
  if (place != 0 && place != kResidualsPlace) return "the sum is offered in the place of residual alone";
  assay_tensor_desc apart = *op->outputs[1];
  apart.alias = 0;
  const char* why = describe_tensor(&apart, &plan->second);
  if (why != NULL) return why;
  if (plan->out.rank != 2 || plan->second.rank != 2 || plan->in[2].rank != 1) return "it takes rows";
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    const assay_attr* attr = op->attrs[i];
    if (is(attr, "rows") || is(attr, "n")) continue; /* the shapes say so too */
    if (is(attr, "eps")) {
      plan->eps = (float)attr->f;
    } else if ((attr->flags & ASSAY_ATTR_OPTIONAL) == 0) {
      return "an attribute of this operator is not offered";
    }
  }
  return NULL;
}

const char* describe_plan(const assay_op_desc* op, assay_plan* plan) {
  if (op->flags != 0) return "flags are not offered";
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    const assay_attr* attr = op->attrs[i];
    const int uses_more = attr->reserved[0] != 0 || attr->reserved[1] != 0 || attr->reserved[2] != 0;
    if ((attr->flags & ~ASSAY_ATTR_OPTIONAL) != 0 || uses_more) return "an attribute uses what is not known";
  }
  const int has_two = strcmp(op->op, "fused_add_rms_norm") == 0;
  if (op->n_inputs < 1 || op->n_inputs > kMaxInputs || op->n_outputs != (has_two ? 2 : 1)) return "too many operands";
  plan->n_inputs = (int)op->n_inputs, plan->n_outputs = (int)op->n_outputs;
  for (int i = 0; i < plan->n_inputs; ++i) {
    const char* why = describe_tensor(op->inputs[i], &plan->in[i]);
    if (why != NULL) return why;
  }
  const char* why = describe_tensor(op->outputs[0], &plan->out);
  if (why != NULL) return why;
  if (has_two) return describe_add_rms_norm(op, plan);
  if (strcmp(op->op, "matmul") == 0) return describe_matmul(op, plan);
  if (strcmp(op->op, "softmax") == 0) return describe_softmax(op, plan);
  if (strcmp(op->op, "reduce") == 0) return describe_reduce(op, plan);
  return "only matmul, softmax, reduce and fused_add_rms_norm are offered";
}
