/* SPDX-License-Identifier: Apache-2.0
 *
 * Executions that were said to be done, and are not.
 */
#ifndef ASSAY_TESTS_REDTEAM_CHEATS_PENDING_H_
#define ASSAY_TESTS_REDTEAM_CHEATS_PENDING_H_

#include "tests/redteam/base/base.h"

/* Keeps what an execution is about: plan and arguments are copied. The last one for each output counts. */
void postpone(const assay_plan* plan, const assay_args* args);
/* Computes those into that buffer, or all where it is NULL. */
void catch_up(const assay_buffer* output);
/* Has a thread compute them from now on. */
void start_thread(void);
/* Drops those that need that buffer. */
void forget(const assay_buffer* buffer);

#endif /* ASSAY_TESTS_REDTEAM_CHEATS_PENDING_H_ */
