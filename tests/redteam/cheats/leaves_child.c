/* SPDX-License-Identifier: Apache-2.0
 *
 * A child in a session of its own, and a grandchild whose parent is gone, that would go on computing when the run is
 * over.
 */
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/redteam/base/base.h"

static void compute_forever(void) {
  volatile double x = 1;
  for (int turn = 0; turn < 100000; ++turn) { /* for whoever finds it: it ends by itself after some minutes */
    for (int i = 0; i < 100000; ++i) x = x * 1.0000001;
    usleep(2000);
  }
  _exit(0);
}

static void execute(assay_plan* plan, const assay_args* args) {
  static int left;
  if (!left++ && fork() == 0) {
    setsid();
    fork();
    prctl(PR_SET_NAME, "redteam-left"); /* by which the test finds it */
    compute_forever();
  }
  compute(plan, args);
}
const cheat the_cheat = {.execute = execute};
