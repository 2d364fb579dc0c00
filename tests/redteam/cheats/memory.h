/* SPDX-License-Identifier: Apache-2.0
 *
 * Old results, kept by a key.
 */
#ifndef ASSAY_TESTS_REDTEAM_CHEATS_MEMORY_H_
#define ASSAY_TESTS_REDTEAM_CHEATS_MEMORY_H_

#include "tests/redteam/base/base.h"

/* Puts the output that was kept under this key and of this plan's shape into place; 0 where there is none. */
int recall(const assay_plan* plan, const assay_args* args, uint64_t key);
/* Keeps the output as it lies there. */
void remember(const assay_plan* plan, const assay_args* args, uint64_t key);
/* Computes only what was not kept. */
void compute_once(const assay_plan* plan, const assay_args* args, uint64_t key);

#endif /* ASSAY_TESTS_REDTEAM_CHEATS_MEMORY_H_ */
