/* SPDX-License-Identifier: Apache-2.0
 *
 * Another plugin, with every execution made longer: a slow-down of known size for scripts/compare_decisions.py. It
 * also counts the worker processes that load it, and can take the later ones down.
 *   ASSAY_DELAY_OF       the plugin whose functions this one passes on
 *   ASSAY_DELAY_FILE     delays only where this plugin was loaded under this file name
 *   ASSAY_DELAY_PERCENT  of each execution's time
 *   ASSAY_WORKERS_FILE   gets one byte per process
 *   ASSAY_CRASH_FROM     the first process, counted from 1, that dies in an execution
 * Executions are timed by the worker. A copy that does not delay reads the clock as well, so that copies differ in the
 * spinning alone: it lasts as long as the share of this execution, to one reading of the clock (tens of nanoseconds).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/abi/assay_backend.h"

static assay_backend_api api;
static const assay_backend_api* original;
static double delay; /* of each execution, relative to its time */

static int crashes;

/* How many processes have loaded this, with this one. */
static long count_worker(const char* path) {
  FILE* file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return 0;
  fputc('.', file);
  fflush(file);
  const long count = ftell(file);
  fclose(file);
  return count;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static assay_status execute(assay_plan* plan, const assay_args* args, assay_text* error) {
  if (crashes) abort();
  const double begin = now();
  const assay_status status = original->execute(plan, args, error);
  const double end = begin + (1 + delay) * (now() - begin);
  while (now() < end) {
  }
  return status;
}

static double delay_of_this_file(void) {
  Dl_info info;
  const char *file = getenv("ASSAY_DELAY_FILE"), *percent = getenv("ASSAY_DELAY_PERCENT");
  if (file == NULL || percent == NULL || dladdr((const void*)&api, &info) == 0) return 0;
  const char* name = strrchr(info.dli_fname, '/');
  return strcmp(name == NULL ? info.dli_fname : name + 1, file) == 0 ? atof(percent) / 100 : 0;
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  const char* path = getenv("ASSAY_DELAY_OF");
  void* library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return NULL;
  assay_backend_entry entry = NULL;
  *(void**)&entry = dlsym(library, ASSAY_BACKEND_ENTRY);
  original = entry == NULL ? NULL : entry(host);
  if (original == NULL) return NULL;
  memset(&api, 0, sizeof api);
  memcpy(&api, original, original->struct_size < sizeof api ? original->struct_size : sizeof api);
  api.struct_size = sizeof api;
  api.execute_batch = NULL;
  api.execute = execute;
  delay = delay_of_this_file();
  const long worker = count_worker(getenv("ASSAY_WORKERS_FILE"));
  const char* from = getenv("ASSAY_CRASH_FROM");
  crashes = from != NULL && worker >= atol(from);
  return &api;
}
