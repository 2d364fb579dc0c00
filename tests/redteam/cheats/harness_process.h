/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that judges: not always the worker's parent.
 */
#ifndef ASSAY_TESTS_REDTEAM_CHEATS_HARNESS_PROCESS_H_
#define ASSAY_TESTS_REDTEAM_CHEATS_HARNESS_PROCESS_H_

#include <sys/types.h>

/* The farthest ancestor that is called as this process is, as far as one may look; else the parent. */
pid_t harness_process(void);

#endif /* ASSAY_TESTS_REDTEAM_CHEATS_HARNESS_PROCESS_H_ */
