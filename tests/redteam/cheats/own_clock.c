/* SPDX-License-Identifier: Apache-2.0
 *
 * Defines clock_gettime itself, as a preloaded library would: what it measures is a hundredth.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/redteam/base/base.h"

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec* out) {
  const long done = syscall(SYS_clock_gettime, clock, out);
  const int64_t now = ((int64_t)out->tv_sec * 1000000000 + out->tv_nsec) / 100;
  out->tv_sec = now / 1000000000, out->tv_nsec = now % 1000000000;
  return (int)done;
}
const cheat the_cheat = {0};
