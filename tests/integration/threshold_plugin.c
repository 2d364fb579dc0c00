/* SPDX-License-Identifier: Apache-2.0
 *
 * The misbehaving plugin's correct product by several implementations, each of which changes at a number of columns
 * that no suite has.
 */
#undef assay_backend_v1 /* CMake gives the misbehaving plugin's another name */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/abi/assay_backend.h"

/* "ok" names its kernel "narrow", and "wide" from kWide columns on: that one leaves the last term out of its last
 * column. "quiet" has the same fault, and no names. "turned" adds from the last term on where there are kTurned columns
 * or more, which is correct and has other bits. "slow" takes four times as long from kSlow columns
 * on, and "limited" is offered below kLimited. */
static const char* const names[] = {"ok", "quiet", "turned", "slow", "limited"};
enum { kImplementations = sizeof names / sizeof names[0] };
enum { kWide = 417, kTurned = 301, kSlow = 3001, kLimited = 195 };

const assay_backend_api* misbehaving_backend_v1(const assay_host_info* host);
static const assay_backend_api* original;

typedef struct shape {
  assay_plan* plan;
  char name[16];
  int64_t m, n, k, strides[3][2]; /* of a, b, y */
} shape;

enum { kPlans = 64 };
static shape shapes[kPlans]; /* those that live */

static shape* shape_of(const assay_plan* plan) {
  for (int i = 0; i < kPlans; ++i) {
    if (shapes[i].plan == plan) return &shapes[i];
  }
  return NULL;
}

static assay_status query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                          assay_text* error) {
  static assay_implementation found[kImplementations];
  static const assay_implementation* items[kImplementations];
  static assay_implementations list = {sizeof list, kImplementations, items};
  const assay_status status = original->query(device, op, out, error);
  if (status != ASSAY_OK) return status;
  for (int i = 0; i < kImplementations; ++i) {
    found[i] = (assay_implementation){sizeof found[i], names[i], "f32acc;det=yes"};
    items[i] = &found[i];
  }
  list.count = op->outputs[0]->shape[1] >= kLimited ? kImplementations - 1 : kImplementations;
  *out = &list;
  return ASSAY_OK;
}

static assay_status plan_create(assay_device* device, const assay_op_desc* op, const char* implementation,
                                assay_plan** out, assay_text* error) {
  const assay_status status = original->plan_create(device, op, "ok", out, error);
  if (status != ASSAY_OK) return status;
  shape* s = shape_of(NULL);
  if (s == NULL) abort();
  const assay_tensor_desc* operands[] = {op->inputs[0], op->inputs[1], op->outputs[0]};
  s->plan = *out;
  snprintf(s->name, sizeof s->name, "%s", implementation);
  s->m = op->outputs[0]->shape[0], s->n = op->outputs[0]->shape[1], s->k = op->inputs[0]->shape[1];
  for (int t = 0; t < 3; ++t) memcpy(s->strides[t], operands[t]->strides, sizeof s->strides[t]);
  return ASSAY_OK;
}
static void plan_destroy(assay_plan* plan) {
  shape_of(plan)->plan = NULL;
  original->plan_destroy(plan);
}

static assay_status plan_info(const assay_plan* plan, assay_plan_info* out, assay_text* error) {
  const shape* s = shape_of(plan);
  (void)error;
  out->workspace_bytes = 0;
  out->algorithm = "";
  out->kernel = strcmp(s->name, "ok") != 0 ? "" : s->n < kWide ? "narrow" : "wide";
  return ASSAY_OK;
}

/* ---- kernels ---- */

struct assay_buffer {
  unsigned char* bytes;
};
static float* at(const shape* s, int operand, const assay_tensor_arg* arg, int64_t i, int64_t j) {
  float* data = (float*)(void*)(arg->buffer->bytes + arg->byte_offset);
  return data + i * s->strides[operand][0] + j * s->strides[operand][1];
}

static assay_status execute(assay_plan* plan, const assay_args* args, assay_text* error) {
  const assay_status status = original->execute(plan, args, error);
  const shape* s = shape_of(plan);
  const int again = strcmp(s->name, "slow") == 0 && s->n >= kSlow ? 3 : 0;
  for (int i = 0; i < again; ++i) original->execute(plan, args, error);
  const assay_tensor_arg *a = args->inputs[0], *b = args->inputs[1], *y = args->outputs[0];
  if (status != ASSAY_OK) return status;
  if (strcmp(s->name, "turned") == 0 && s->n >= kTurned) {
    for (int64_t i = 0; i < s->m; ++i) {
      for (int64_t j = 0; j < s->n; ++j) {
        float sum = 0;
        for (int64_t k = s->k - 1; k >= 0; --k) sum += *at(s, 0, a, i, k) * *at(s, 1, b, k, j);
        *at(s, 2, y, i, j) = sum;
      }
    }
  }
  if ((strcmp(s->name, "ok") == 0 || strcmp(s->name, "quiet") == 0) && s->n >= kWide) {
    for (int64_t i = 0; i < s->m; ++i) {
      *at(s, 2, y, i, s->n - 1) -= *at(s, 0, a, i, s->k - 1) * *at(s, 1, b, s->k - 1, s->n - 1);
    }
  }
  return ASSAY_OK;
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static assay_backend_api api;
  original = misbehaving_backend_v1(host);
  if (original == NULL) return NULL;
  api = *original;
  api.struct_size = sizeof api;
  api.query = query;
  api.plan_create = plan_create;
  api.plan_destroy = plan_destroy;
  api.execute = execute;
  api.execute_batch = NULL; /* the original's would execute without these kernels */
  api.plan_info = plan_info;
  return &api;
}
