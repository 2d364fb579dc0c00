/* SPDX-License-Identifier: Apache-2.0
 *
 * By /proc, where that can be read.
 */
#include "tests/redteam/cheats/harness_process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Name and parent of a process; 0 where it cannot be looked at. */
static pid_t look_at(pid_t pid, char name[32]) {
  char path[64];
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE* file = fopen(path, "re");
  if (file == NULL) return 0;
  if (fscanf(file, "%*d (%31[^)]) %*c %d", name, &parent) != 2) parent = 0;
  fclose(file);
  return parent;
}

pid_t harness_process(void) {
  char own[32] = "", name[32] = "";
  pid_t found = getppid();
  look_at(getpid(), own);
  for (pid_t pid = found; pid > 1;) {
    const pid_t parent = look_at(pid, name);
    if (parent == 0 || strcmp(name, own) != 0) break;
    found = pid;
    pid = parent;
  }
  return found;
}
