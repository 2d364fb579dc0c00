/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole backend in plain C: products of f32 matrices. Copy it and put your device behind these functions; what each
 * of them promises stands in the header. Here the device's memory is malloc's and its kernel is three loops.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/abi/assay_backend.h"

/* The ABI's handles are opaque: a plugin defines them as it likes. */
struct assay_buffer {
  uint64_t size;
  unsigned char bytes[];
};
struct assay_plan {
  int64_t m, n, k, strides[3][2]; /* of a, b and y, in elements */
};

static assay_status describe(assay_backend_info* out, assay_text* error) {
  ASSAY_SET(out, name, "vendor"), ASSAY_SET(out, vendor, "Example Inc."), ASSAY_SET(out, version, "1.0");
  return ASSAY_SET(out, library_version, ""), ASSAY_OK;
}
static assay_status device_count(uint32_t* out, assay_text* error) {
  *out = 1; /* where there is none: return assay_fail(error, ASSAY_UNAVAILABLE, "no ... was found; install ..."); */
  return ASSAY_OK;
}
static assay_status device_info(uint32_t index, assay_device_info* out, assay_text* error) {
  if (index > 0) return assay_fail(error, ASSAY_ERROR, "there is one device, number 0");
  ASSAY_SET(out, name, "Example 1"), ASSAY_SET(out, driver, "1.0"), ASSAY_SET(out, device_type, ASSAY_DEVICE_EXT);
  ASSAY_SET(out, device_id, 0), ASSAY_SET(out, memory_bytes, 1 << 30), ASSAY_SET(out, properties, "subnormals=kept");
  ASSAY_SET(out, buffer_alignment, 0);
  return ASSAY_OK;
}
static assay_status device_open(uint32_t index, assay_device** out, assay_text* error) {
  if (index > 0) return assay_fail(error, ASSAY_ERROR, "there is one device, number 0");
  *out = (assay_device*)"Example 1"; /* anything but NULL: of this device there is nothing to keep */
  return ASSAY_OK;
}
static void device_close(assay_device* device) {}

static const assay_tensor_desc* operand(const assay_op_desc* d, int i) { return i < 2 ? d->inputs[i] : d->outputs[0]; }

/* NULL when this backend computes what is described; else the reason why it does not. What is not known is refused. The
 * shapes tell m, n and k; there is a c where beta is not 0, a bias where bias is 1, and an epilogue with these. */
static const char* why_not(const assay_op_desc* op) {
  static const char* const keys[] = {"m", "n", "k", "batch", "beta", "bias", "epilogue", "alpha", "transa", "transb"};
  if (strcmp(op->op, "matmul") || op->n_inputs != 2 || op->n_outputs != 1) return "only matmul of a and b is offered";
  for (int i = 0; i < 3; ++i) {
    const assay_tensor_desc* t = operand(op, i);
    if (t->type_code != ASSAY_TYPE_FLOAT || t->bits != 32 || t->ndim != 2) return "only f32 matrices are offered";
  }
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    const assay_attr* attr = op->attrs[i];
    if (strncmp(attr->key, "trans", 5) == 0 && attr->i != 0) return "nothing transposed is offered";
    if (strcmp(attr->key, "alpha") == 0 && attr->f != 1) return "only alpha = 1 is offered";
  }
  return assay_asks_for_more(op, keys, sizeof keys / sizeof keys[0]);
}

/* The contract declares the arithmetic, and results are judged by it: here sums in f32, the same bits every time. */
static const assay_implementation loops = {sizeof loops, "loops", "f32acc;det=yes"};
static const assay_implementation* const all[] = {&loops};
static const assay_implementations offered = {sizeof offered, 1, all};

static assay_status query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                          assay_text* error) {
  if (why_not(op) != NULL) return assay_fail(error, ASSAY_UNSUPPORTED, why_not(op));
  *out = &offered;
  return ASSAY_OK;
}
static void query_free(assay_device* device, const assay_implementations* found) {}

static assay_status buffer_alloc(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  *out = bytes < SIZE_MAX / 2 ? malloc(sizeof **out + bytes) : NULL;
  if (*out == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "the device has less memory than that");
  (*out)->size = bytes;
  return ASSAY_OK;
}
static void buffer_free(assay_device* device, assay_buffer* buffer) { free(buffer); }
static assay_status buffer_upload(assay_device* device, assay_buffer* to, uint64_t at, const void* bytes, uint64_t size,
                                  assay_text* error) {
  if (at > to->size || size > to->size - at) return assay_fail(error, ASSAY_ERROR, "outside of the buffer");
  memcpy(to->bytes + at, bytes, size);
  return ASSAY_OK;
}
static assay_status buffer_download(assay_device* device, const assay_buffer* from, uint64_t at, void* bytes,
                                    uint64_t size, assay_text* error) {
  if (at > from->size || size > from->size - at) return assay_fail(error, ASSAY_ERROR, "outside of the buffer");
  memcpy(bytes, from->bytes + at, size);
  return ASSAY_OK;
}

/* The description is gone when this returns: what execute needs of it is copied. */
static assay_status plan_create(assay_device* device, const assay_op_desc* op, const char* implementation,
                                assay_plan** out, assay_text* error) {
  if (why_not(op) || strcmp(implementation, loops.name)) return assay_fail(error, ASSAY_UNSUPPORTED, "not offered");
  assay_plan* plan = *out = malloc(sizeof *plan);
  if (plan == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
  plan->m = op->outputs[0]->shape[0], plan->n = op->outputs[0]->shape[1], plan->k = op->inputs[0]->shape[1];
  for (int i = 0; i < 3; ++i) memcpy(plan->strides[i], operand(op, i)->strides, sizeof plan->strides[i]);
  return ASSAY_OK;
}
static void plan_destroy(assay_plan* plan) { free(plan); }

/* Element [i,j] of an operand: a view into a buffer, from byte_offset on and with its strides. */
static float* at(const assay_tensor_arg* arg, const int64_t* strides, int64_t i, int64_t j) {
  return (float*)(void*)(arg->buffer->bytes + arg->byte_offset) + i * strides[0] + j * strides[1];
}

static assay_status execute(assay_plan* plan, const assay_args* args, assay_text* error) {
  if (args->flags != 0) return assay_fail(error, ASSAY_UNSUPPORTED, "arguments with these flags are not known");
  for (int64_t e = 0; e < plan->m * plan->n; ++e) {
    const int64_t i = e / plan->n, j = e % plan->n;
    float* y = at(args->outputs[0], plan->strides[2], i, j);
    *y = 0;
    for (int64_t p = 0; p < plan->k; ++p)
      *y += *at(args->inputs[0], plan->strides[0], i, p) * *at(args->inputs[1], plan->strides[1], p, j);
  }
  return ASSAY_OK;
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  /* Members that are not named are NULL. Without execute_batch, the host's clock times execute. */
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
