/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a jump over the C library's clock_gettime: every clock of the worker, the harness's own too, runs a hundred
 * times too slow.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/redteam/base/base.h"

static int64_t nanoseconds(const struct timespec* t) {
  return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int slow_clock(clockid_t clock, struct timespec* out) {
  static int64_t first[16];
  const long done = syscall(SYS_clock_gettime, clock, out);
  if (done != 0 || clock < 0 || clock >= 16) return (int)done;
  if (first[clock] == 0) first[clock] = nanoseconds(out);
  const int64_t now = first[clock] + (nanoseconds(out) - first[clock]) / 100;
  out->tv_sec = now / 1000000000, out->tv_nsec = now % 1000000000;
  return 0;
}

static void loaded(void) {
#if defined(__x86_64__)
  unsigned char jump[12] = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xE0}; /* mov rax, address; jmp rax */
  int (*const replacement)(clockid_t, struct timespec*) = slow_clock;
  memcpy(jump + 2, &replacement, sizeof replacement);
  unsigned char* target = dlsym(RTLD_DEFAULT, "clock_gettime");
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)target / page * page;
  if (mprotect((void*)begin, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    fprintf(stderr, "redteam: the clock cannot be patched\n");
    return;
  }
  memcpy(target, jump, sizeof jump);
#endif
}
const cheat the_cheat = {.loaded = loaded};
