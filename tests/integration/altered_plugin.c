/* SPDX-License-Identifier: Apache-2.0
 *
 * The vendor's example with one thing altered, which the variable ASSAY_ALTER names: each breaks one rule of the ABI
 * for `assay check-plugin` to find, but for the last few, which give the plugin another number of devices.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/abi/assay_backend.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#undef ASSAY_EXPORT
#define ASSAY_EXPORT static
#define assay_backend_v1 example_backend
/* The example keeps nothing of its device. */
struct assay_device {
  int unused;
};
#include "tests/consumer/vendor/vendor_backend.c"
#undef assay_backend_v1

static assay_backend_api ours;

#include "tests/integration/altered_answers.h"

/* ---- memory ---- */

static assay_status forgets_offset(assay_device* device, const assay_buffer* buffer, uint64_t offset, void* bytes,
                                   uint64_t size, assay_text* error) {
  const assay_status status = buffer_download(device, buffer, offset, bytes, size, error);
  return status == ASSAY_OK ? buffer_download(device, buffer, 0, bytes, size, error) : status;
}
static assay_status null_for_zero(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  *out = NULL;
  return bytes == 0 ? ASSAY_OK : buffer_alloc(device, bytes, out, error);
}
static assay_status promises_all(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  return buffer_alloc(device, bytes % (1 << 30), out, error);
}
static assay_status cuts_range(assay_device* device, assay_buffer* buffer, uint64_t offset, const void* bytes,
                               uint64_t size, assay_text* error) {
  if (offset > buffer->size) return ASSAY_OK;
  const uint64_t room = buffer->size - offset;
  return buffer_upload(device, buffer, offset, bytes, size < room ? size : room, error);
}
static void writes_on_free(assay_device* device, assay_buffer* buffer) {
  *(volatile uint64_t*)&buffer->size = 0;
  buffer_free(device, buffer);
}

/* ---- plans ---- */

static assay_status any_implementation(assay_device* device, const assay_op_desc* op, const char* implementation,
                                       assay_plan** out, assay_text* error) {
  return plan_create(device, op, loops.name, out, error);
}
static assay_status plans_run_out(assay_device* device, const assay_op_desc* op, const char* implementation,
                                  assay_plan** out, assay_text* error) {
  static int made;
  if (made++ >= 10) return assay_fail(error, ASSAY_OUT_OF_MEMORY, "no slot is left");
  return plan_create(device, op, implementation, out, error);
}
static assay_status other_bits(assay_plan* plan, const assay_args* args, assay_text* error) {
  static int executions;
  const assay_status status = execute(plan, args, error);
  *at(args->outputs[0], plan->strides[2], 0, 0) += (float)++executions;
  return status;
}
static assay_status any_arguments(assay_plan* plan, const assay_args* args, assay_text* error) {
  assay_args known = *args;
  known.flags = 0;
  return execute(plan, &known, error);
}
static assay_status leaves_rounding(assay_plan* plan, const assay_args* args, assay_text* error) {
  const assay_status status = execute(plan, args, error);
  fesetround(FE_UPWARD);
  return status;
}
static assay_status flushes_subnormals(assay_plan* plan, const assay_args* args, assay_text* error) {
  const assay_status status = execute(plan, args, error);
#if defined(__SSE__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000);
#elif defined(__aarch64__)
  uint64_t modes;
  __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
  __asm__ volatile("msr fpcr, %0" : : "r"(modes | 1 << 24));
#endif
  return status;
}
static assay_status enables_traps(assay_plan* plan, const assay_args* args, assay_text* error) {
  const assay_status status = execute(plan, args, error);
  feenableexcept(FE_DIVBYZERO);
  return status;
}
__attribute__((destructor)) static void at_exit(void) {
  const char* how = getenv("ASSAY_ALTER");
  if (how == NULL) return;
  if (strcmp(how, "crashes-at-exit") == 0) abort();
  if (strcmp(how, "code-at-exit") == 0) _exit(3);
  if (strcmp(how, "hangs-at-exit") == 0) pause();
}
static assay_status crashes(assay_plan* plan, const assay_args* args, assay_text* error) {
  abort();
}
static assay_status hangs(assay_plan* plan, const assay_args* args, assay_text* error) {
  pause();
  return ASSAY_ERROR;
}
static assay_status times(assay_plan* plan, assay_batch* batch, assay_text* error) {
  for (uint64_t i = 0; i < batch->count; ++i) {
    const assay_status status = execute(plan, batch->args[i], error);
    if (status != ASSAY_OK) return status;
    batch->seconds[i] = 1e-3;
  }
  ASSAY_SET(batch, clock_is_device, 1);
  return ASSAY_OK;
}
static assay_status times_but_one(assay_plan* plan, assay_batch* batch, assay_text* error) {
  const assay_status status = times(plan, batch, error);
  batch->seconds[batch->count - 1] = NAN;
  return status;
}
static assay_status times_and_leaves_rounding(assay_plan* plan, assay_batch* batch, assay_text* error) {
  const assay_status status = times(plan, batch, error);
  fesetround(FE_UPWARD);
  return status;
}
static assay_status times_for_newer(assay_plan* plan, assay_batch* batch, assay_text* error) {
  batch->cache_was_flushed = 0;
  return times(plan, batch, error);
}

/* ---- objects are destroyed once, and before their device: counted, and fatal otherwise ---- */

static int buffers, plans;
static assay_status counted_alloc(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  const assay_status status = buffer_alloc(device, bytes, out, error);
  buffers += status == ASSAY_OK;
  return status;
}
static void counted_free(assay_device* device, assay_buffer* buffer) {
  if (buffer != NULL && (--buffers < 0 || buffer->size == UINT64_MAX)) abort();
  if (buffer != NULL) buffer->size = UINT64_MAX; /* kept, so that a second time is seen */
}
static assay_status counted_create(assay_device* device, const assay_op_desc* op, const char* implementation,
                                   assay_plan** out, assay_text* error) {
  const assay_status status = plan_create(device, op, implementation, out, error);
  plans += status == ASSAY_OK;
  return status;
}
static void counted_destroy(assay_plan* plan) {
  if (plan != NULL && (--plans < 0 || plan->m < 0)) abort();
  if (plan != NULL) plan->m = -1;
}
static void counted_close(assay_device* device) {
  const char* report = getenv("ASSAY_ALTER_REPORT"); /* the worker is ending: nobody would see an abort */
  if (report == NULL) return;
  const int fd = open(report, O_WRONLY | O_CREAT | O_APPEND, 0600);
  dprintf(fd, "%d plans, %d buffers\n", plans, buffers);
  close(fd);
}

/* ---- several devices ---- */

static assay_status two(uint32_t* out, assay_text* error) {
  *out = 2;
  return ASSAY_OK;
}
static assay_status none(uint32_t* out, assay_text* error) {
  return assay_fail(error, ASSAY_UNAVAILABLE, "no accelerator was found; install its driver");
}
static assay_status no_info(uint32_t index, assay_device_info* out, assay_text* error) {
  return assay_fail(error, ASSAY_ERROR, "there is no device");
}
static assay_status no_open(uint32_t index, assay_device** out, assay_text* error) {
  return assay_fail(error, ASSAY_ERROR, "there is no device");
}
static assay_status twin_info(uint32_t index, assay_device_info* out, assay_text* error) {
  return index > 1 ? assay_fail(error, ASSAY_ERROR, "there are two devices") : device_info(0, out, error);
}
static assay_status two_infos(uint32_t index, assay_device_info* out, assay_text* error) {
  const assay_status status = twin_info(index, out, error);
  if (index == 1) ASSAY_SET(out, name, "Example 2");
  return status;
}
static assay_status open_two(uint32_t index, assay_device** out, assay_text* error) {
  static assay_device devices[2] = {{0}, {1}};
  if (index > 1) return assay_fail(error, ASSAY_ERROR, "there are two devices");
  *out = &devices[index];
  return ASSAY_OK;
}
static assay_status second_is_wrong(assay_device* device, const assay_op_desc* op, const char* implementation,
                                    assay_plan** out, assay_text* error) {
  const assay_status status = plan_create(device, op, implementation, out, error);
  if (status == ASSAY_OK) (*out)->k -= device->unused;
  return status;
}

static void* wait_for_ever(void* unused) {
  for (;;) pause();
  return unused;
}

static void alter(const char* how) {
#define ALTER(name, member, value) \
  if (strcmp(how, name) == 0) ours.member = (value)
  ALTER("wrong-major", abi_major, 2);
  ALTER("lower-major", abi_major, 0);
  ALTER("older-table", struct_size, offsetof(assay_backend_api, execute_batch));
  ALTER("null-function", query, NULL);
  ALTER("bad-name", describe, bad_name);
  ALTER("null-driver", device_info, null_driver);
  ALTER("any-index", device_info, any_index);
  ALTER("ignores-struct-size", describe, ignores_struct_size);
  ALTER("clears-struct", device_info, clears_struct);
  ALTER("silent", device_open, silent);
  ALTER("needs-text", device_open, needs_text);
  ALTER("terminates-nothing", device_open, terminates_nothing);
  ALTER("overruns-text", device_open, overruns_text);
  ALTER("cuts-without-end", device_open, cuts_without_end);
  ALTER("opens-once", device_open, opens_once);
  ALTER("opens-while-unused", device_open, opens_while_unused);
  ALTER("opens-while-unused", execute, use);
  ALTER("leaks-heap", device_open, leaks_heap);
  ALTER("leaks-pages", device_open, leaks_pages);
  ALTER("leaks-files", device_open, leaks_files);
  ALTER("declines-as-error", query, declines_as_error);
  ALTER("any-type", query, any_type);
  ALTER("any-attribute", query, any_attribute);
  ALTER("any-outputs", query, any_outputs);
  ALTER("known-attributes", query, known_attributes);
  ALTER("exact-size", query, exact_size);
  ALTER("shares-list", query, shares_list);
  ALTER("shares-list", query_free, forgets_list);
  ALTER("no-list", query, no_list);
  ALTER("lists-twice", query, lists_twice);
  ALTER("bad-contract", query, bad_contract);
  ALTER("forgets-offset", buffer_download, forgets_offset);
  ALTER("null-for-zero", buffer_alloc, null_for_zero);
  ALTER("promises-all", buffer_alloc, promises_all);
  ALTER("cuts-range", buffer_upload, cuts_range);
  ALTER("writes-on-free", buffer_free, writes_on_free);
  ALTER("any-implementation", plan_create, any_implementation);
  ALTER("plans-run-out", plan_create, plans_run_out);
  ALTER("other-bits", execute, other_bits);
  ALTER("leaves-rounding", execute, leaves_rounding);
  ALTER("flushes-subnormals", execute, flushes_subnormals);
  ALTER("enables-traps", execute, enables_traps);
  ALTER("any-arguments", execute, any_arguments);
  ALTER("crashes", execute, crashes);
  ALTER("hangs", execute, hangs);
  ALTER("any-flags", query, any_flags);
  ALTER("any-alias", query, any_alias);
  ALTER("complete", execute_batch, times);
  ALTER("complete", plan_info, tells_plan);
  ALTER("complete", capabilities, lists_matmul);
  ALTER("plan-info-to-newer", plan_info, tells_plan_to_newer);
  ALTER("lists-too-little", capabilities, lists_too_little);
  ALTER("lists-too-much", capabilities, lists_too_much);
  ALTER("odd-alignment", device_info, odd_alignment);
  ALTER("keeps-result", execute, keeps_result);
  ALTER("times", execute_batch, times);
  ALTER("times-but-one", execute_batch, times_but_one);
  ALTER("times-and-leaves-rounding", execute_batch, times_and_leaves_rounding);
  ALTER("times-for-newer", execute_batch, times_for_newer);
  ALTER("counts", buffer_alloc, counted_alloc);
  ALTER("counts", buffer_free, counted_free);
  ALTER("counts", plan_create, counted_create);
  ALTER("counts", plan_destroy, counted_destroy);
  ALTER("counts", device_close, counted_close);
  ALTER("no-device", device_count, none);
  ALTER("no-device", device_info, no_info);
  ALTER("no-device", device_open, no_open);
  if (strncmp(how, "two-", 4) != 0) return;
  ours.device_count = two, ours.device_open = open_two, ours.plan_create = second_is_wrong;
  ours.device_info = strcmp(how, "two-alike") == 0 ? twin_info : two_infos;
}

__attribute__((visibility("default"))) const assay_backend_api* assay_backend_v1(const assay_host_info* host);
const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static assay_backend_api another;
  static int calls;
  const char* how = getenv("ASSAY_ALTER");
  ours = *example_backend(host);
  if (how == NULL) return &ours;
  if (strcmp(how, "this-minor-only") == 0 && host->abi_minor != ASSAY_ABI_MINOR) return NULL;
  alter(how);
  if (strcmp(how, "two-tables") == 0 && calls++ > 0) return another = ours, &another;
  if (strcmp(how, "starts-thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
  }
  return &ours;
}

#ifdef ALTERED_EXPORTS
__attribute__((visibility("default"))) int helper_of_the_plugin(void);
int helper_of_the_plugin(void) {
  return 0;
}
#endif
