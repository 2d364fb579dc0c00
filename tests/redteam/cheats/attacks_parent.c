/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks the process that started the worker, once and by its name's way, and then computes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/redteam/base/base.h"
#include "tests/redteam/cheats/harness_process.h"

/* A traced process that is never continued stands still. */
static int attack(const char* how, pid_t parent) {
  if (strcmp(how, "kill") == 0) return kill(parent, SIGKILL);
  if (strcmp(how, "stop") == 0) return kill(parent, SIGSTOP);
  const long attached = ptrace(PTRACE_ATTACH, parent, NULL, NULL);
  if (attached == 0) waitpid(parent, NULL, __WALL);
  return (int)attached;
}

static void execute(assay_plan* plan, const assay_args* args) {
  static int attacked;
  if (!attacked++) {
    const int done = attack(plan->implementation, harness_process());
    fprintf(stderr, "redteam: %s: %s\n", plan->implementation, done == 0 ? "done" : strerror(errno));
    if (done != 0) abort(); /* so that what it printed is told */
  }
  compute(plan, args);
}
const cheat the_cheat = {.names = {"kill", "stop", "ptrace"}, .execute = execute};
