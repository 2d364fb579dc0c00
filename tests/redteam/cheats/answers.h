/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks for the right answer where the harness may have left it. Without it the result is zeros.
 */
#ifndef ASSAY_TESTS_REDTEAM_CHEATS_ANSWERS_H_
#define ASSAY_TESTS_REDTEAM_CHEATS_ANSWERS_H_

#include <stddef.h>

#include "tests/redteam/base/base.h"

/* Computes the first row of y honestly; the cheat skips the rest. */
void compute_first_row(const assay_plan* plan, const assay_args* args);
/* Searches these bytes for doubles that agree with the first row, and takes the output from them; 0 if there are
   none. */
int take_answer(const assay_plan* plan, const assay_args* args, const unsigned char* bytes, size_t size);
/* Searches each file of a folder and its subfolders for an answer. */
int take_from_folder(const assay_plan* plan, const assay_args* args, const char* folder);

#endif /* ASSAY_TESTS_REDTEAM_CHEATS_ANSWERS_H_ */
