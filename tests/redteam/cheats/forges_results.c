/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes zeros, and leaves a child that writes a good record over the results once they are there.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/redteam/cheats/harness_process.h"
#include "tests/redteam/cheats/lazy.h"

/* "mismatch" becomes "pass" where it stands; the blanks behind it are those of JSON. */
static void forge(const char* path) {
  static const char kBad[] = "\"mismatch\"", kGood[] = "\"pass\"    ";
  char text[1 << 16];
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t got = pread(fd, text, sizeof text - 1, 0);
  text[got > 0 ? got : 0] = '\0';
  for (char* at = strstr(text, kBad); at != NULL; at = strstr(at + 1, kBad)) {
    if (pwrite(fd, kGood, sizeof kGood - 1, at - text) < 0) break;
  }
  close(fd);
}

static void watch(int parent) {
  char under_parent[64];
  snprintf(under_parent, sizeof under_parent, "/proc/%d/cwd/out*/results.jsonl", parent);
  for (int turn = 0; turn < 200; ++turn, usleep(10000)) {
    glob_t files = {0};
    glob(under_parent, 0, NULL, &files);
    glob("/tmp/redteam-*/out*/results.jsonl", GLOB_APPEND, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; ++i) forge(files.gl_pathv[i]);
    globfree(&files);
  }
  _exit(0);
}

static void execute(assay_plan* plan, const assay_args* args) {
  static int watches;
  const int parent = harness_process();
  if (!watches && (watches = 1) && fork() == 0) {
    setsid();
    watch(parent);
  }
  write_zeros(plan, args);
}
const cheat the_cheat = {.execute = execute};
