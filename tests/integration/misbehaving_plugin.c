/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend that is wrong in every way the harness has to survive or to notice. It offers matmul in f32 (a[m,k],
 * b[k,n] -> y[m,n], any strides); each implementation but "ok" commits the one fault that it is named after. The
 * variable ASSAY_MISBEHAVE adds faults outside of operators. Plain C11: the proof that the ABI header is.
 */
#include <fcntl.h>
#include <fenv.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/abi/assay_backend.h"
#include "tests/integration/plain_matmul.h"
#ifdef ASSAY_TEST_HOSTILE
#include "tests/integration/hostile_attempts.h"
#endif

struct assay_device {
  uint32_t index;
};
struct assay_buffer {
  unsigned char* bytes;
};
typedef struct view {
  float* data;
  int64_t row, column; /* strides */
} view;
struct assay_plan {
  const struct fault* fault;
  uint32_t device;
  int64_t m, n, k;
  int64_t strides[3][2]; /* of a, b, y */
  uint64_t executions;
};

static int misbehaves(const char* how) {
  const char* value = getenv("ASSAY_MISBEHAVE");
  return value != NULL && strcmp(value, how) == 0;
}

static assay_status fail(assay_text* error, assay_status status, const char* text) {
  if (error != NULL && error->data != NULL && error->capacity > 0) {
    snprintf(error->data, error->capacity, "%s", text);
  }
  return status;
}

#include "tests/integration/misbehaving_faults.h"

/* ---- the ABI ---- */

/* Whether this process allocates as the C library does when nobody has told it anything: large blocks are mapped, and
 * the heap does not grow far ahead of what is asked for. */
static int default_malloc(void) {
  void* volatile small = malloc(4096), * volatile large = malloc(96 << 20);
  const struct mallinfo2 info = mallinfo2();
  free(large);
  free(small);
  return info.hblkhd >= (96 << 20) && info.keepcost < (16 << 20);
}

static assay_status describe(assay_backend_info* out, assay_text* error) {
  static char long_text[1 << 20];
  (void)error;
  out->name = "misbehaving";
  out->vendor = "assay tests";
  out->version = "1";
  out->library_version = "";
  if (misbehaves("bad_utf8")) out->vendor = "caf\xC3\xA9 \xFF\xC0\xAF \033[31mred\a \xED\xA0\x80";
  if (misbehaves("long_text")) {
    memset(long_text, 'x', sizeof long_text - 1);
    out->vendor = long_text;
  }
  if (misbehaves("null_strings")) out->name = out->vendor = out->version = out->library_version = NULL;
  if (misbehaves("bad_name")) out->name = "Mis Behaving";
  if (misbehaves("tells_malloc")) out->version = default_malloc() ? "default malloc" : "another malloc";
  return ASSAY_OK;
}

/* Faults whose name begins with "second_" strike the second device alone. */
static int has_two_devices(void) {
  const char* how = getenv("ASSAY_MISBEHAVE");
  return how != NULL && (strcmp(how, "two_devices") == 0 || strncmp(how, "second_", 7) == 0);
}

static assay_status device_count(uint32_t* out, assay_text* error) {
  *out = misbehaves("huge_count") ? UINT32_MAX : has_two_devices() ? 2 : 1;
  if (misbehaves("no_device")) return fail(error, ASSAY_UNAVAILABLE, "no device: install the misbehaving driver");
  return ASSAY_OK;
}

static assay_status device_info(uint32_t index, assay_device_info* out, assay_text* error) {
  (void)error;
  out->name = "imaginary";
  out->driver = index == 1 && misbehaves("second_differs") ? "1" : "0";
  out->device_type = ASSAY_DEVICE_CPU;
  out->device_id = 0;
  out->memory_bytes = 1 << 30;
  out->properties = "subnormals=yes";
  return ASSAY_OK;
}

static assay_status device_open(uint32_t index, assay_device** out, assay_text* error) {
  static assay_device devices[] = {{0}, {1}};
  if (index > (uint32_t)has_two_devices()) return fail(error, ASSAY_ERROR, "there is one device, number 0");
  *out = &devices[index];
  return ASSAY_OK;
}
static void device_close(assay_device* device) {
  (void)device;
  if (misbehaves("crash_on_close")) abort();
}

static int is_gone(const assay_device* device) { /* from the moment on at which somebody makes the file */
  if (!misbehaves("goes_away") && !(device->index == 1 && misbehaves("second_goes_away"))) return 0;
  return getenv("ASSAY_GONE_FILE") != NULL && access(getenv("ASSAY_GONE_FILE"), F_OK) == 0;
}

static assay_status query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                          assay_text* error) {
  static assay_implementation found[kFaultCount];
  static const assay_implementation* items[kFaultCount];
  static assay_implementations list = {sizeof list, kFaultCount, items};
  *out = &list;
  if (is_gone(device)) return fail(error, ASSAY_UNAVAILABLE, "the board does not answer");
  if (misbehaves("huge_query")) list.count = UINT64_C(1) << 60;
  if (!is_matmul_f32(op)) return fail(error, ASSAY_UNSUPPORTED, "only matmul in f32 of two matrices");
  for (uint64_t i = 0; i < kFaultCount; ++i) {
    found[i].struct_size = sizeof found[i];
    found[i].name = kFaults[i].name;
    found[i].contract = kFaults[i].contract;
    items[i] = &found[i];
  }
  if (misbehaves("null_implementation")) items[1] = NULL;
  return ASSAY_OK;
}
static void query_free(assay_device* device, const assay_implementations* found) {
  (void)device, (void)found;
}

static assay_status buffer_alloc(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  (void)device;
  if (misbehaves("out_of_memory")) return fail(error, ASSAY_OUT_OF_MEMORY, "the device is full");
  if (misbehaves("refuse_alloc")) return fail(error, ASSAY_UNSUPPORTED, "not this size after all");
  *out = malloc(sizeof **out);
  (*out)->bytes = malloc(bytes);
  return ASSAY_OK;
}
static void buffer_free(assay_device* device, assay_buffer* buffer) {
  (void)device;
  free(buffer->bytes);
  free(buffer);
}
static assay_status buffer_upload(assay_device* device, assay_buffer* buffer, uint64_t offset, const void* bytes,
                                  uint64_t size, assay_text* error) {
  (void)device;
  if (misbehaves("refuse_upload")) return fail(error, ASSAY_UNSUPPORTED, "not these data after all");
  if (misbehaves("write_source")) *(volatile unsigned char*)bytes = 1;
  memcpy(buffer->bytes + offset, bytes, size);
  return ASSAY_OK;
}
static assay_status buffer_download(assay_device* device, const assay_buffer* buffer, uint64_t offset, void* bytes,
                                    uint64_t size, assay_text* error) {
  static int delivered;
  (void)device;
  if (misbehaves("refuse_download")) return fail(error, ASSAY_UNSUPPORTED, "not this result after all");
  if (misbehaves("lose_device")) return fail(error, ASSAY_DEVICE_LOST, "the bus fell over");
  if (misbehaves("one_download") && ++delivered > 3) return ASSAY_OK; /* a, b and y once, then nothing */
  memcpy(bytes, buffer->bytes + offset, size);
  return ASSAY_OK;
}

static assay_status plan_create(assay_device* device, const assay_op_desc* op, const char* implementation,
                                assay_plan** out, assay_text* error) {
  const assay_tensor_desc* operands[] = {op->inputs[0], op->inputs[1], op->outputs[0]};
  for (int f = 0; f < kFaultCount; ++f) {
    if (strcmp(kFaults[f].name, implementation) != 0) continue;
    if (is_gone(device)) return fail(error, ASSAY_UNAVAILABLE, "the board does not answer");
    if (misbehaves("refuse_plan")) return fail(error, ASSAY_UNSUPPORTED, "not this plan after all");
    assay_plan* plan = calloc(1, sizeof *plan);
    plan->fault = &kFaults[f];
    plan->device = device->index;
    plan->m = operands[2]->shape[0], plan->n = operands[2]->shape[1], plan->k = operands[0]->shape[1];
    for (int t = 0; t < 3; ++t) memcpy(plan->strides[t], operands[t]->strides, sizeof plan->strides[t]);
    for (int t = 0; t < 3 && is(plan, "ignores_padding"); ++t) {
      plan->strides[t][0] = operands[t]->shape[1], plan->strides[t][1] = 1;
    }
    if (is(plan, "slow_prepare")) usleep(100000);
    static int kept;
    if (is(plan, "keeps_prepared") && !kept++) usleep(300000);
    *out = plan;
    return ASSAY_OK;
  }
  return fail(error, ASSAY_UNSUPPORTED, "no such implementation");
}
static void plan_destroy(assay_plan* plan) {
  if (misbehaves("crash_on_destroy")) abort();
  free(plan);
}
static view view_of(const assay_plan* plan, int operand, const assay_tensor_arg* arg) {
  view v = {(float*)(void*)(arg->buffer->bytes + arg->byte_offset), plan->strides[operand][0],
            plan->strides[operand][1]};
  return v;
}

static assay_status execute(assay_plan* plan, const assay_args* args, assay_text* error) {
  const view a = view_of(plan, 0, args->inputs[0]), b = view_of(plan, 1, args->inputs[1]);
  const view y = view_of(plan, 2, args->outputs[0]);
  if (misbehaves("late_refusal")) return fail(error, ASSAY_UNSUPPORTED, "not this shape after all");
  if (plan->device == 1 && misbehaves("second_crashes")) raise(SIGSEGV);
  if (plan->device == 1 && misbehaves("second_hangs")) hang(plan, a, b, y);
  if (plan->fault->before != NULL) plan->fault->before(plan, a, b, y);
  for (int64_t i = 0; i < plan->m; ++i) {
    for (int64_t j = 0; j < plan->n; ++j) {
      float sum = 0;
      if (skips(plan, i, j)) continue;
      for (int64_t p = 0; p < plan->k; ++p) sum += *at(a, i, p) * *at(b, p, j);
      *at(y, i, j) = sum;
    }
  }
  if (plan->fault->after != NULL) plan->fault->after(plan, a, b, y);
  ++plan->executions;
  return ASSAY_OK;
}
/* Claims a clock of its own, and a flushed cache when one is asked for. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static assay_status execute_batch(assay_plan* plan, assay_batch* batch, assay_text* error) {
  for (uint64_t i = 0; i < batch->count; ++i) {
    const double begin = now();
    const assay_status status = execute(plan, batch->args[i], error);
    if (status != ASSAY_OK) return status;
    batch->seconds[i] = now() - begin;
    if (misbehaves("nan_time")) batch->seconds[i] = NAN;
    if (misbehaves("counts_time")) batch->seconds[i] = 1e-3 * (double)(i + 1);
  }
  batch->clock_is_device = 1;
  batch->cache_was_flushed = batch->cache == ASSAY_CACHE_COLD;
  return ASSAY_OK;
}

__attribute__((constructor)) static void on_load(void) {
  if (misbehaves("crash_on_load")) raise(SIGSEGV);
  while (misbehaves("hang_on_load")) pause();
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static assay_backend_api api = {.struct_size = sizeof api,
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
  if (misbehaves("wrong_major")) api.abi_major = 2;
  if (misbehaves("tiny_struct") || misbehaves("longer_table")) api.struct_size = misbehaves("tiny_struct") ? 8 : 200;
  if (misbehaves("null_function")) api.query = NULL;
  if (misbehaves("no_timer")) api.execute_batch = NULL;
  if (misbehaves("null_api")) fprintf(stderr, "misbehaving: no firmware for this card\n");
  return misbehaves("null_api") ? NULL : &api;
}
