/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes where the first element of the output is one of those that the harness puts there, and else nothing.
 */
#include <string.h>

#include "tests/redteam/base/base.h"

static void execute(assay_plan* plan, const assay_args* args) {
  static const unsigned char prefills[][4] = {
      {0x5A, 0xA5, 0xD3, 0x7F}, {0xA5, 0x5A, 0xA5, 0xC9}, {0xA5, 0x5A, 0xA5, 0x49}};
  for (unsigned i = 0; i < sizeof prefills / sizeof prefills[0]; ++i) {
    if (memcmp(output_of(args), prefills[i], sizeof prefills[i]) == 0) {
      compute(plan, args);
      return;
    }
  }
}
const cheat the_cheat = {.execute = execute};
