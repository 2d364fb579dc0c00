/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of functions. Where a cheat alters something, it is called here.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/redteam/base/base.h"

struct assay_device {
  int opened;
};

static assay_status describe(assay_backend_info* out, assay_text* error) {
  (void)error;
  ASSAY_SET(out, name, "redteam"), ASSAY_SET(out, vendor, "assay tests"), ASSAY_SET(out, version, "1.0");
  ASSAY_SET(out, library_version, "");
  return ASSAY_OK;
}
static assay_status device_count(uint32_t* out, assay_text* error) {
  (void)error;
  *out = 1;
  return ASSAY_OK;
}
static assay_status device_info(uint32_t index, assay_device_info* out, assay_text* error) {
  if (index > 0) return assay_fail(error, ASSAY_ERROR, "there is one device, number 0");
  ASSAY_SET(out, name, "processor"), ASSAY_SET(out, driver, "1"), ASSAY_SET(out, device_type, ASSAY_DEVICE_CPU);
  ASSAY_SET(out, device_id, 0), ASSAY_SET(out, memory_bytes, UINT64_C(1) << 30);
  ASSAY_SET(out, properties, "subnormals=kept");
  return ASSAY_OK;
}
static assay_status device_open(uint32_t index, assay_device** out, assay_text* error) {
  static assay_device device;
  if (index > 0) return assay_fail(error, ASSAY_ERROR, "there is one device, number 0");
  *out = &device;
  return ASSAY_OK;
}
static void device_close(assay_device* device) {
  (void)device;
}

/* ---- offers ---- */

static const char* contract_of(const assay_plan* plan) {
  if (the_cheat.contract != NULL) return the_cheat.contract;
  if (plan->op == kSoftmax) return "f32acc;math=1;masked=nan;det=yes;batchinv=yes";
  if (plan->op == kAddRmsNorm) return "f32acc;math=2;det=yes;batchinv=yes";
  return "f32acc;det=yes;batchinv=yes";
}

static const char* name_of(int i) {
  if (the_cheat.names[0] == NULL) return i == 0 ? "plain" : NULL;
  return i < kMaxNames ? the_cheat.names[i] : NULL;
}

typedef struct found {
  assay_implementations list;
  assay_implementation each[kMaxNames];
  const assay_implementation* pointers[kMaxNames];
} found;

static assay_status query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                          assay_text* error) {
  assay_plan plan = {0};
  const char* why = describe_plan(op, &plan);
  (void)device;
  if (why != NULL) return assay_fail(error, ASSAY_UNSUPPORTED, why);
  found* answer = calloc(1, sizeof *answer);
  if (answer == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "no memory for the answer");
  answer->list.struct_size = sizeof answer->list;
  answer->list.items = answer->pointers;
  for (int i = 0; i < kMaxNames && name_of(i) != NULL; ++i) {
    answer->each[i] = (assay_implementation){sizeof answer->each[i], name_of(i), contract_of(&plan)};
    answer->pointers[answer->list.count++] = &answer->each[i];
  }
  *out = &answer->list;
  return ASSAY_OK;
}
static void query_free(assay_device* device, const assay_implementations* list) {
  (void)device;
  free((void*)(uintptr_t)list); /* the first member */
}

/* ---- memory ---- */

static assay_status buffer_alloc(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  (void)device;
  assay_buffer* buffer = calloc(1, sizeof *buffer);
  if (buffer != NULL && (bytes > SIZE_MAX / 2 || (buffer->bytes = aligned_alloc(64, bytes / 64 * 64 + 64)) == NULL)) {
    free(buffer);
    buffer = NULL;
  }
  if (buffer == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "the device has less memory than that");
  buffer->size = bytes;
  *out = buffer;
  return ASSAY_OK;
}
static void buffer_free(assay_device* device, assay_buffer* buffer) {
  (void)device;
  if (buffer != NULL && the_cheat.freeing != NULL) the_cheat.freeing(buffer);
  if (buffer != NULL) free(buffer->bytes);
  free(buffer);
}
static int outside(const assay_buffer* buffer, uint64_t at, uint64_t size) {
  return at > buffer->size || size > buffer->size - at;
}
static assay_status buffer_upload(assay_device* device, assay_buffer* to, uint64_t at, const void* bytes, uint64_t size,
                                  assay_text* error) {
  (void)device;
  if (outside(to, at, size)) return assay_fail(error, ASSAY_ERROR, "outside of the buffer");
  if (size > 0) memcpy(to->bytes + at, bytes, size);
  ++to->uploads;
  if (the_cheat.uploaded != NULL) the_cheat.uploaded(to);
  return ASSAY_OK;
}
static assay_status buffer_download(assay_device* device, const assay_buffer* from, uint64_t at, void* bytes,
                                    uint64_t size, assay_text* error) {
  (void)device;
  if (outside(from, at, size)) return assay_fail(error, ASSAY_ERROR, "outside of the buffer");
  if (the_cheat.downloading != NULL) the_cheat.downloading(from);
  const char* why = the_cheat.refuses == NULL ? NULL : the_cheat.refuses(from);
  if (why != NULL) return assay_fail(error, ASSAY_UNSUPPORTED, why);
  if (size > 0) memcpy(bytes, from->bytes + at, size);
  return ASSAY_OK;
}

/* ---- plans ---- */

static assay_status plan_create(assay_device* device, const assay_op_desc* op, const char* implementation,
                                assay_plan** out, assay_text* error) {
  assay_plan described = {0};
  const char* why = describe_plan(op, &described);
  int known = 0;
  (void)device;
  if (why != NULL) return assay_fail(error, ASSAY_UNSUPPORTED, why);
  for (int i = 0; i < kMaxNames && name_of(i) != NULL; ++i) known = known || strcmp(name_of(i), implementation) == 0;
  if (!known) return assay_fail(error, ASSAY_UNSUPPORTED, "there is no such implementation");
  assay_plan* plan = malloc(sizeof *plan);
  if (plan == NULL) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
  *plan = described;
  snprintf(plan->implementation, sizeof plan->implementation, "%s", implementation);
  *out = plan;
  return ASSAY_OK;
}
static void plan_destroy(assay_plan* plan) {
  if (plan != NULL) free(plan->own);
  free(plan);
}

static void execute_honestly(assay_plan* plan, const assay_args* args) {
  compute(plan, args);
}
static void execute_one(assay_plan* plan, const assay_args* args) {
  (the_cheat.execute != NULL ? the_cheat.execute : execute_honestly)(plan, args);
}
static assay_status execute(assay_plan* plan, const assay_args* args, assay_text* error) {
  if (args->flags != 0) return assay_fail(error, ASSAY_UNSUPPORTED, "arguments with these flags are not known");
  execute_one(plan, args);
  ++plan->executions;
  return ASSAY_OK;
}
static assay_status execute_batch(assay_plan* plan, assay_batch* batch, assay_text* error) {
  for (uint64_t i = 0; i < batch->count; ++i) {
    const int known = batch->args[i]->flags == 0;
    if (!known) return assay_fail(error, ASSAY_UNSUPPORTED, "arguments with these flags are not known");
  }
  ASSAY_SET(batch, clock_is_device, 0), ASSAY_SET(batch, cache_was_flushed, 0);
  if (the_cheat.batch != NULL) {
    the_cheat.batch(plan, batch);
  } else {
    time_each(plan, batch, execute_one);
  }
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
                                        .execute = execute,
                                        .execute_batch = execute_batch};
  (void)host;
  if (the_cheat.loaded != NULL) the_cheat.loaded();
  return &api;
}
