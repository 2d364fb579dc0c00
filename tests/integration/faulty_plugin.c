/* SPDX-License-Identifier: Apache-2.0
 *
 * The misbehaving plugin, with one fault in one call of one case: that whose result has 7 rows. ASSAY_FAULT=CALL:FAULT
 * names both, for instance plan_create:SIGSEGV; calls that belong to no case have it always. A call of "clock" is one
 * of execute_batch whose durations are wrong. "wait" is no fault: the call goes on once ASSAY_FAULT_GO, a file, is
 * there.
 */
#undef assay_backend_v1 /* CMake gives the misbehaving plugin's another name */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/abi/assay_backend.h"

enum { kRowsOfTheCase = 7 };

const assay_backend_api* misbehaving_backend_v1(const assay_host_info* host);
static const assay_backend_api* original;
static int at_hand; /* whether the plan that was made last is of the case */

static const char* fault_of(const char* call) {
  const char* text = getenv("ASSAY_FAULT");
  const size_t size = strlen(call);
  return text != NULL && strncmp(text, call, size) == 0 && text[size] == ':' ? text + size + 1 : "";
}

/* ---- faults ---- */

static long overflow_stack(long depth) { /* no stack has room for so many */
  volatile char frame[65536];
  frame[0] = 1;
  return depth == INT32_MAX ? 0 : overflow_stack(depth + 1) + frame[0];
}
static void corrupt_heap(void) { /* what the allocator keeps before a block is overwritten, and the block freed */
  unsigned char* volatile block = malloc(64);
  volatile unsigned char* const before = block - 16;
  for (int i = 0; i < 16; ++i) before[i] = 0x5A;
  free(block);
}
static void allocate(void) { /* without end; nothing looks at what malloc returns */
  for (;;) *(volatile char*)malloc(16 << 20) = 1;
}
static void close_descriptors(void) {
  for (int fd = 0; fd < 256; ++fd) close(fd);
}
static void write_to_all(int first) { /* among them is the host's socket */
  char bytes[4096];
  memset(bytes, 'g', sizeof bytes);
  for (;;) {
    for (int fd = first; fd < 64; ++fd) {
      if (write(fd, bytes, sizeof bytes) < 0) continue;
    }
  }
}
static void print(FILE* stream) {
  for (;;) fprintf(stream, "misbehaving: it goes on and on\n");
}
static void await_go(void) {
  const char* file = getenv("ASSAY_FAULT_GO");
  while (file != NULL && access(file, F_OK) != 0) usleep(5000);
}

static void raise_named(const char* name) {
  static const struct {
    const char* name;
    int number;
  } kSignals[] = {{"SIGSEGV", SIGSEGV}, {"SIGABRT", SIGABRT}, {"SIGBUS", SIGBUS},  {"SIGFPE", SIGFPE},
                  {"SIGILL", SIGILL},   {"SIGKILL", SIGKILL}, {"SIGSTOP", SIGSTOP}};
  for (size_t i = 0; i < sizeof kSignals / sizeof kSignals[0]; ++i) {
    if (strcmp(name, kSignals[i].name) != 0) continue;
    signal(kSignals[i].number, SIG_DFL);
    raise(kSignals[i].number);
  }
}

static void commit(const char* fault) {
  if (strncmp(fault, "SIG", 3) == 0) raise_named(fault);
  if (strcmp(fault, "wait") == 0) await_go();
  while (strcmp(fault, "hang") == 0) pause();
  if (strcmp(fault, "exit_0") == 0) exit(0);
  if (strcmp(fault, "exit_3") == 0) exit(3);
  if (strcmp(fault, "end_thread") == 0) pthread_exit(NULL);
  if (strcmp(fault, "stack") == 0) overflow_stack(0);
  if (strcmp(fault, "heap") == 0) corrupt_heap();
  if (strcmp(fault, "allocate") == 0) allocate();
  if (strcmp(fault, "close_all") == 0) close_descriptors();
  if (strcmp(fault, "garbage") == 0) write_to_all(3);
  if (strcmp(fault, "stdout") == 0) print(stdout);
  if (strcmp(fault, "stderr") == 0) print(stderr);
}
static void commit_if_at_hand(const char* call) {
  if (at_hand) commit(fault_of(call));
}

/* ---- the calls ---- */

static int is_of_the_case(const assay_op_desc* op) {
  return op->n_outputs == 1 && op->outputs[0]->ndim == 2 && op->outputs[0]->shape[0] == kRowsOfTheCase;
}

static assay_status query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                          assay_text* error) {
  if (is_of_the_case(op)) commit(fault_of("query"));
  return original->query(device, op, out, error);
}
static assay_status plan_create(assay_device* device, const assay_op_desc* op, const char* implementation,
                                assay_plan** out, assay_text* error) {
  at_hand = is_of_the_case(op);
  commit_if_at_hand("plan_create");
  return original->plan_create(device, op, implementation, out, error);
}
static void plan_destroy(assay_plan* plan) {
  commit_if_at_hand("plan_destroy");
  original->plan_destroy(plan);
}
static assay_status buffer_alloc(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  if (at_hand && strcmp(fault_of("buffer_alloc"), "no_memory") == 0) {
    return snprintf(error->data, error->capacity, "the device is full"), ASSAY_OUT_OF_MEMORY;
  }
  commit_if_at_hand("buffer_alloc");
  return original->buffer_alloc(device, bytes, out, error);
}
static void buffer_free(assay_device* device, assay_buffer* buffer) {
  commit_if_at_hand("buffer_free");
  original->buffer_free(device, buffer);
}
static assay_status buffer_upload(assay_device* device, assay_buffer* buffer, uint64_t offset, const void* bytes,
                                  uint64_t size, assay_text* error) {
  commit_if_at_hand("buffer_upload");
  return original->buffer_upload(device, buffer, offset, bytes, size, error);
}
static assay_status buffer_download(assay_device* device, const assay_buffer* buffer, uint64_t offset, void* bytes,
                                    uint64_t size, assay_text* error) {
  commit_if_at_hand("buffer_download");
  return original->buffer_download(device, buffer, offset, bytes, size, error);
}
static assay_status execute(assay_plan* plan, const assay_args* args, assay_text* error) {
  commit_if_at_hand("execute");
  return original->execute(plan, args, error);
}
static assay_status device_open(uint32_t index, assay_device** out, assay_text* error) {
  commit(fault_of("device_open"));
  return original->device_open(index, out, error);
}
static void device_close(assay_device* device) {
  commit(fault_of("device_close"));
  original->device_close(device);
}

/* Its clock, not the host's. */
static double wrong(const char* fault, double seconds, uint64_t repetition) {
  if (strcmp(fault, "back") == 0) return -seconds;
  if (strcmp(fault, "still") == 0) return 0;
  if (strcmp(fault, "nan") == 0) return NAN;
  if (strcmp(fault, "endless") == 0) return INFINITY;
  if (strcmp(fault, "jump") == 0) return repetition == 0 ? seconds + 3600 : seconds;
  if (strcmp(fault, "fast") == 0) return seconds * 1000;
  return seconds;
}
static assay_status execute_batch(assay_plan* plan, assay_batch* batch, assay_text* error) {
  commit_if_at_hand("execute");
  const assay_status status = original->execute_batch(plan, batch, error);
  for (uint64_t i = 0; i < batch->count && status == ASSAY_OK && at_hand; ++i) {
    batch->seconds[i] = wrong(fault_of("clock"), batch->seconds[i], i);
  }
  return status;
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static assay_backend_api api;
  original = misbehaving_backend_v1(host);
  if (original == NULL) return NULL;
  api = *original;
  api.query = query;
  api.plan_create = plan_create;
  api.plan_destroy = plan_destroy;
  api.buffer_alloc = buffer_alloc;
  api.buffer_free = buffer_free;
  api.buffer_upload = buffer_upload;
  api.buffer_download = buffer_download;
  api.execute = execute;
  api.execute_batch = execute_batch;
  api.device_open = device_open;
  api.device_close = device_close;
  return &api;
}
