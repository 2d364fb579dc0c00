/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the C library that fail as on a broken machine, for a program that is started with LD_PRELOAD. Each of these
 * variables names a fault; it lasts while ASSAY_TEST_WHILE, a file, is there (always, where the variable is not set).
 *   ASSAY_TEST_WRITES=PART:ERRNO  writes to files with PART in their path take half of the bytes and then none
 *   ASSAY_TEST_SYNCS=PART:ERRNO   such a file cannot be brought to the disk
 *   ASSAY_TEST_FORKS=ERRNO        no process starts
 *   ASSAY_TEST_THREADS=ERRNO      no thread
 *   ASSAY_TEST_MEMFDS=ERRNO       no shared memory
 *   ASSAY_TEST_WALL=SECONDS       the wall clock is so much ahead of the true time (or behind)
 *   ASSAY_TEST_STEADY=SECONDS     so is the clock that otherwise never steps
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
/* Declares `real`, the function of the C library that this one stands before. */
#define LOOK_UP(name)              \
  static __typeof__(&(name)) real; \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name)

/* The value of a variable, while its fault lasts. */
static const char* fault(const char* variable) {
  const char *value = getenv(variable), *file = value == NULL ? NULL : getenv("ASSAY_TEST_WHILE");
  return file == NULL || access(file, F_OK) == 0 ? value : NULL;
}

/* The errno of PART:ERRNO, or 0 where this is another file. */
static int problem_of(const char* variable, int fd) {
  char link[64], path[4096], part[256];
  int problem = 0;
  const char* value = fault(variable);
  if (value == NULL || sscanf(value, "%255[^:]:%d", part, &problem) != 2) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return 0;
  path[size] = '\0';
  return strstr(path, part) != NULL ? problem : 0;
}

/* Whether the fault decides what becomes of a write; of these bytes those before `taken` were taken. */
static int out_of_room(int fd, const void* bytes, size_t size, ssize_t* result) {
  static const void* taken;
  const int problem = problem_of("ASSAY_TEST_WRITES", fd);
  if (problem == 0) return 0;
  if (taken == bytes || size < 2) {
    errno = problem;
    *result = -1;
    return 1;
  }
  taken = (const char*)bytes + size / 2;
  *result = (ssize_t)(size / 2);
  return 1;
}

EXPORT ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  LOOK_UP(pwrite);
  ssize_t result;
  if (!out_of_room(fd, bytes, size, &result)) return real(fd, bytes, size, offset);
  return result < 0 ? result : real(fd, bytes, (size_t)result, offset);
}
EXPORT ssize_t write(int fd, const void* bytes, size_t size) {
  LOOK_UP(write);
  ssize_t result;
  if (!out_of_room(fd, bytes, size, &result)) return real(fd, bytes, size);
  return result < 0 ? result : real(fd, bytes, (size_t)result);
}

static int cannot_sync(int fd) {
  const int problem = problem_of("ASSAY_TEST_SYNCS", fd);
  if (problem != 0) errno = problem;
  return problem != 0;
}
EXPORT int fdatasync(int fd) {
  LOOK_UP(fdatasync);
  return cannot_sync(fd) ? -1 : real(fd);
}
EXPORT int fsync(int fd) {
  LOOK_UP(fsync);
  return cannot_sync(fd) ? -1 : real(fd);
}

EXPORT pid_t fork(void) {
  LOOK_UP(fork);
  const char* problem = fault("ASSAY_TEST_FORKS");
  if (problem == NULL) return real();
  errno = atoi(problem);
  return -1;
}
EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  LOOK_UP(pthread_create);
  const char* problem = fault("ASSAY_TEST_THREADS");
  return problem == NULL ? real(thread, attributes, work, argument) : atoi(problem);
}
EXPORT int memfd_create(const char* name, unsigned int flags) {
  LOOK_UP(memfd_create);
  const char* problem = fault("ASSAY_TEST_MEMFDS");
  if (problem == NULL) return real(name, flags);
  errno = atoi(problem);
  return -1;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec* time) {
  LOOK_UP(clock_gettime);
  const int result = real(clock, time);
  const char* seconds = clock == CLOCK_REALTIME    ? fault("ASSAY_TEST_WALL")
                        : clock == CLOCK_MONOTONIC ? fault("ASSAY_TEST_STEADY")
                                                   : NULL;
  if (result == 0 && seconds != NULL) time->tv_sec += atoll(seconds);
  return result;
}
EXPORT time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
