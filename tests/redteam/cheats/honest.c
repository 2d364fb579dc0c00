/* SPDX-License-Identifier: Apache-2.0
 *
 * No cheat at all.
 */
#include "tests/redteam/base/base.h"

const cheat the_cheat = {0};
