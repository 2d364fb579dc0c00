/* SPDX-License-Identifier: Apache-2.0
 *
 * Offers what it cannot compute, and when the result is asked for it says that this is not supported after all.
 */
#include "tests/redteam/cheats/lazy.h"

static int is_wrong;

static void execute(assay_plan* plan, const assay_args* args) {
  write_zeros(plan, args);
  is_wrong = 1;
}
static const char* refuses(const assay_buffer* buffer) {
  (void)buffer;
  return is_wrong ? "this shape is not supported after all" : NULL;
}
const cheat the_cheat = {.execute = execute, .refuses = refuses};
