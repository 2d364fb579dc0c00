/* SPDX-License-Identifier: Apache-2.0
 *
 * "learn" leaves its results wherever something may outlive the worker; the others, in a later run, take them from the
 * place that they are named after, or give zeros.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>

#include "tests/redteam/cheats/lazy.h"

enum { kSegmentKey = 0x72656474, kMostElements = 1 << 16 };

/* "" where there is no such place. */
static const char* path_of(const char* place) {
  static char path[512];
  const char* home = getenv("HOME");
  path[0] = '\0';
  if (strcmp(place, "tmp") == 0) return "/tmp/assay-redteam-kept";
  if (strcmp(place, "var_tmp") == 0) return "/var/tmp/assay-redteam-kept";
  if (strcmp(place, "shm") == 0) return "/dev/shm/assay-redteam-kept";
  if (strcmp(place, "folder") == 0) return "assay-redteam-kept";
  const char* cache = getenv("XDG_CACHE_HOME");
  if (strcmp(place, "cache") == 0) {
    if (cache != NULL) snprintf(path, sizeof path, "%s/assay-redteam-kept", cache);
  } else if (home != NULL) {
    snprintf(path, sizeof path, "%s/.assay-redteam-kept", home);
  }
  return path;
}

static void write_file(const char* path, const float* y, size_t count) {
  FILE* file = path[0] == '\0' ? NULL : fopen(path, "wbe");
  if (file == NULL) return;
  if (fwrite(y, sizeof *y, count, file) != count) fprintf(stderr, "redteam: %s is not whole\n", path);
  fclose(file);
}
static int read_file(const char* path, float* y, size_t count) {
  FILE* file = fopen(path, "rbe");
  if (file == NULL) return 0;
  const size_t got = fread(y, sizeof *y, count, file);
  fclose(file);
  return got == count;
}

static void* segment(int flags) {
  const int id = shmget(kSegmentKey, kMostElements * sizeof(float), flags | 0600);
  void* at = id < 0 ? (void*)-1 : shmat(id, NULL, 0);
  return at == (void*)-1 ? NULL : at;
}

static void learn(const float* y, size_t count) {
  static const char* const places[] = {"tmp", "var_tmp", "shm", "folder", "home", "cache"};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) write_file(path_of(places[i]), y, count);
  void* at = segment(IPC_CREAT);
  if (at == NULL) return;
  memcpy(at, y, count * sizeof *y);
  shmdt(at);
}

static int recall_kept(const char* place, float* y, size_t count) {
  if (strcmp(place, "segment") != 0) return read_file(path_of(place), y, count);
  void* at = segment(0);
  if (at == NULL) return 0;
  memcpy(y, at, count * sizeof *y);
  shmdt(at);
  return 1;
}

static void execute(assay_plan* plan, const assay_args* args) {
  static int learnt; /* the first execution is that of the case's own inputs */
  const size_t count = (size_t)count_of(&plan->out);
  float* y = calloc(kMostElements, sizeof *y);
  if (y == NULL || count > kMostElements) abort();
  if (strcmp(plan->implementation, "learn") == 0) {
    compute(plan, args);
    gather(&plan->out, output_of(args), y);
    if (!learnt++) learn(y, count);
  } else if (has_integers(plan, args)) { /* a twin, which only the run draws */
    compute(plan, args);
  } else if (recall_kept(plan->implementation, y, count)) {
    scatter(&plan->out, y, output_of(args));
  } else {
    write_zeros(plan, args);
  }
  free(y);
}
const cheat the_cheat = {.names = {"learn", "tmp", "var_tmp", "shm", "folder", "home", "cache", "segment"},
                         .execute = execute};
