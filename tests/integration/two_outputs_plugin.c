/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend of an operator with two outputs, one of them in place: fused_add_rms_norm in f32, s = x + residual in the
 * memory of residual and y = s / sqrt(mean of s^2 + eps) gamma. Each implementation but "ok" commits the one fault that
 * it is named after. ASSAY_OFFERS_ONLY names the one that is offered; with ASSAY_TAKES_ANY_ALIAS it takes every output
 * in any input.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/abi/assay_backend.h"

/* Functions of the table have parameters that most of them do not use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { kX, kResidual, kGamma, kInputs };
enum { kY, kSum, kOutputs };

struct assay_buffer {
  uint64_t size;
  unsigned char bytes[];
};
struct assay_plan {
  const struct fault* fault;
  int64_t rows, n, executions;
  int64_t strides[kInputs + kOutputs][2];
  float eps;
};
typedef struct view {
  float* data;
  int64_t row, column;
} view;

static float* at(view v, int64_t i, int64_t j) {
  return v.data + i * v.row + j * v.column;
}

/* ---- faults: run after both outputs were written as they should be ---- */

typedef void (*spoil)(const assay_plan* plan, const view* in, const view* out);
struct fault {
  const char* name;
  spoil after;   /* may be NULL */
  int leaves;    /* the number of the output that is not written, plus 1 */
  int sum_first; /* y is computed from what the sum has overwritten */
};

static void wrong_second(const assay_plan* plan, const view* in, const view* out) {
  *at(out[kSum], plan->rows - 1, plan->n - 1) += 1;
}
static void wrong_first(const assay_plan* plan, const view* in, const view* out) {
  *at(out[kY], 0, 0) += 1;
}
static void write_after_second(const assay_plan* plan, const view* in, const view* out) {
  *(at(out[kSum], plan->rows - 1, plan->n - 1) + 1) = 1;
}
static void change_input(const assay_plan* plan, const view* in, const view* out) {
  *at(in[kX], 0, 0) += 1;
}
static void other_bits(const assay_plan* plan, const view* in, const view* out) {
  float* s = at(out[kSum], 0, 0);
  if (plan->executions % 2 == 0) *s = nextafterf(*s, HUGE_VALF);
}
static void swap(const assay_plan* plan, const view* in, const view* out) {
  for (int64_t e = 0; e < plan->rows * plan->n; ++e) {
    float* y = at(out[kY], e / plan->n, e % plan->n);
    float* s = at(out[kSum], e / plan->n, e % plan->n);
    const float was = *y;
    *y = *s, *s = was;
  }
}

static const struct fault faults[] = {
    {"ok", NULL, 0, 0},
    {"wrong_second", wrong_second, 0, 0},
    {"wrong_first", wrong_first, 0, 0},
    {"unwritten_first", NULL, kY + 1, 0},
    {"unwritten_second", NULL, kSum + 1, 0},
    {"sum_first", NULL, 0, 1},
    {"write_after_second", write_after_second, 0, 0},
    {"change_input", change_input, 0, 0},
    {"other_bits", other_bits, 0, 0},
    {"swapped", swap, 0, 0},
};
enum { kFaults = sizeof faults / sizeof faults[0] };

static assay_status describe(assay_backend_info* out, assay_text* error) {
  ASSAY_SET(out, name, "two-outputs"), ASSAY_SET(out, vendor, "tests"), ASSAY_SET(out, version, "1.0");
  return ASSAY_SET(out, library_version, ""), ASSAY_OK;
}
static assay_status device_count(uint32_t* out, assay_text* error) {
  *out = 1;
  return ASSAY_OK;
}
static assay_status device_info(uint32_t index, assay_device_info* out, assay_text* error) {
  if (index > 0) return assay_fail(error, ASSAY_ERROR, "there is one device, number 0");
  ASSAY_SET(out, name, "Two"), ASSAY_SET(out, driver, "1.0"), ASSAY_SET(out, device_type, ASSAY_DEVICE_CPU);
  ASSAY_SET(out, device_id, 0), ASSAY_SET(out, memory_bytes, 1 << 30), ASSAY_SET(out, properties, "type=cpu");
  ASSAY_SET(out, buffer_alignment, 0);
  return ASSAY_OK;
}
static assay_status device_open(uint32_t index, assay_device** out, assay_text* error) {
  if (index > 0) return assay_fail(error, ASSAY_ERROR, "there is one device, number 0");
  *out = (assay_device*)"Two";
  return ASSAY_OK;
}
static void device_close(assay_device* device) {}

static const assay_tensor_desc* operand(const assay_op_desc* op, int i) {
  return i < kInputs ? op->inputs[i] : op->outputs[i - kInputs];
}

/* Refuses aliases except that the sum may overwrite residual. */
static const char* why_no_alias(const assay_op_desc* op) {
  const uint32_t y = op->outputs[kY]->alias, sum = op->outputs[kSum]->alias;
  if (y > kInputs || sum > kInputs || (y != 0 && y == sum)) return "an output is in the place of no input of its own";
  if (getenv("ASSAY_TAKES_ANY_ALIAS") != NULL) return NULL;
  return y != 0 || (sum != 0 && sum != kResidual + 1) ? "the sum alone is offered in place, in that of residual" : NULL;
}

static const char* why_not(const assay_op_desc* op) {
  static const char* const keys[] = {"rows", "n", "eps"};
  if (strcmp(op->op, "fused_add_rms_norm") != 0) return "only fused_add_rms_norm is offered";
  if (op->flags != 0) return "no flags are known";
  if (op->n_inputs != kInputs || op->n_outputs != kOutputs) return "it has three inputs and two outputs";
  for (int i = 0; i < kInputs + kOutputs; ++i) {
    const assay_tensor_desc* t = operand(op, i);
    if (t->type_code != ASSAY_TYPE_FLOAT || t->bits != 32) return "only f32 is offered";
    if (t->flags != 0 || t->reserved != 0) return "no flags are known";
    if (t->ndim != (i == kGamma ? 1 : 2)) return "it takes rows";
  }
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    const assay_attr* attr = op->attrs[i];
    int known = 0;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; ++k) known |= strcmp(attr->key, keys[k]) == 0;
    if ((attr->flags & ~ASSAY_ATTR_OPTIONAL) != 0) return "an attribute has a flag that is not known";
    if (!known && (attr->flags & ASSAY_ATTR_OPTIONAL) == 0) return "an attribute is not known";
  }
  return why_no_alias(op);
}

static assay_implementation items[kFaults];
static const assay_implementation* all[kFaults];
static assay_implementations offered = {sizeof offered, 0, all};

static assay_status query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                          assay_text* error) {
  const char* why = why_not(op);
  if (why != NULL) return assay_fail(error, ASSAY_UNSUPPORTED, why);
  const char* only = getenv("ASSAY_OFFERS_ONLY");
  offered.count = 0;
  for (int i = 0; i < kFaults; ++i) {
    if (only != NULL && strcmp(only, faults[i].name) != 0) continue;
    items[i] = (assay_implementation){sizeof items[i], faults[i].name, "f32acc;math=2;det=yes"};
    all[offered.count++] = &items[i];
  }
  *out = &offered;
  return ASSAY_OK;
}
static void query_free(assay_device* device, const assay_implementations* found) {}

static assay_status buffer_alloc(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  *out = bytes < SIZE_MAX / 2 ? malloc(sizeof **out + bytes) : NULL;
  if (*out == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "no memory");
  (*out)->size = bytes;
  return ASSAY_OK;
}
static void buffer_free(assay_device* device, assay_buffer* buffer) {
  free(buffer);
}
static assay_status buffer_upload(assay_device* device, assay_buffer* to, uint64_t first, const void* bytes,
                                  uint64_t size, assay_text* error) {
  if (first > to->size || size > to->size - first) return assay_fail(error, ASSAY_ERROR, "outside of the buffer");
  memcpy(to->bytes + first, bytes, size);
  return ASSAY_OK;
}
static assay_status buffer_download(assay_device* device, const assay_buffer* from, uint64_t first, void* bytes,
                                    uint64_t size, assay_text* error) {
  if (first > from->size || size > from->size - first) return assay_fail(error, ASSAY_ERROR, "outside of the buffer");
  memcpy(bytes, from->bytes + first, size);
  return ASSAY_OK;
}

static assay_status plan_create(assay_device* device, const assay_op_desc* op, const char* implementation,
                                assay_plan** out, assay_text* error) {
  const struct fault* fault = NULL;
  for (int i = 0; i < kFaults; ++i) fault = strcmp(implementation, faults[i].name) == 0 ? &faults[i] : fault;
  if (fault == NULL || why_not(op) != NULL) return assay_fail(error, ASSAY_UNSUPPORTED, "not offered");
  assay_plan* plan = *out = calloc(1, sizeof *plan);
  if (plan == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
  plan->fault = fault, plan->rows = op->outputs[kY]->shape[0], plan->n = op->outputs[kY]->shape[1];
  for (int i = 0; i < kInputs + kOutputs; ++i) {
    const assay_tensor_desc* t = operand(op, i);
    plan->strides[i][0] = i == kGamma ? 0 : t->strides[0], plan->strides[i][1] = t->strides[t->ndim - 1];
  }
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    if (strcmp(op->attrs[i]->key, "eps") == 0) plan->eps = (float)op->attrs[i]->f;
  }
  return ASSAY_OK;
}
static void plan_destroy(assay_plan* plan) {
  free(plan);
}

static void write_sum(const assay_plan* plan, const view* in, const view* out, int64_t i) {
  for (int64_t j = 0; j < plan->n; ++j) *at(out[kSum], i, j) = *at(in[kX], i, j) + *at(in[kResidual], i, j);
}
static void write_y(const assay_plan* plan, const view* in, const view* out, int64_t i) {
  float squares = 0;
  for (int64_t j = 0; j < plan->n; ++j) {
    const float s = *at(in[kX], i, j) + *at(in[kResidual], i, j);
    squares += s * s;
  }
  const float r = 1 / sqrtf(squares / (float)plan->n + plan->eps);
  for (int64_t j = 0; j < plan->n; ++j) {
    *at(out[kY], i, j) = (*at(in[kX], i, j) + *at(in[kResidual], i, j)) * r * *at(in[kGamma], i, j);
  }
}

static assay_status execute(assay_plan* plan, const assay_args* args, assay_text* error) {
  if (args->flags != 0) return assay_fail(error, ASSAY_UNSUPPORTED, "arguments with these flags are not known");
  view views[kInputs + kOutputs];
  for (int i = 0; i < kInputs + kOutputs; ++i) {
    const assay_tensor_arg* arg = i < kInputs ? args->inputs[i] : args->outputs[i - kInputs];
    views[i] = (view){(float*)(void*)(arg->buffer->bytes + arg->byte_offset), plan->strides[i][0], plan->strides[i][1]};
  }
  const view* in = views;
  const view* out = views + kInputs;
  for (int64_t i = 0; i < plan->rows; ++i) {
    if (plan->fault->sum_first) write_sum(plan, in, out, i);
    if (plan->fault->leaves != kY + 1) write_y(plan, in, out, i);
    if (!plan->fault->sum_first && plan->fault->leaves != kSum + 1) write_sum(plan, in, out, i);
  }
  ++plan->executions;
  if (plan->fault->after != NULL) plan->fault->after(plan, in, out);
  return ASSAY_OK;
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static const assay_backend_api api = {.struct_size = sizeof api,
                                        .abi_major = ASSAY_ABI_MAJOR,
                                        .abi_minor = ASSAY_ABI_MINOR,
                                        .describe = describe,
                                        .device_count = device_count,
                                        .device_info = device_info,
                                        .device_open = device_open,
                                        .device_close = device_close,
                                        .query = query,
                                        .query_free = query_free,
                                        .buffer_alloc = buffer_alloc,
                                        .buffer_free = buffer_free,
                                        .buffer_upload = buffer_upload,
                                        .buffer_download = buffer_download,
                                        .plan_create = plan_create,
                                        .plan_destroy = plan_destroy,
                                        .execute = execute};
  return &api;
}
