/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks for the right answer where the harness may have left it. Without it the result is zeros.
 */
#ifndef ASSAY_TESTS_REDTEAM_CHEATS_ANSWERS_H_
#define ASSAY_TESTS_REDTEAM_CHEATS_ANSWERS_H_

#include <stddef.h>

#include "tests/redteam/base/base.h"

/* The first row of y by an honest way; the rest of it is what the cheat spares itself. */
void compute_first_row(const assay_plan* plan, const assay_args* args);
/* Takes the output from doubles that lie somewhere in these bytes and agree with the first row; 0 where none do. */
int take_answer(const assay_plan* plan, const assay_args* args, const unsigned char* bytes, size_t size);
/* Searches each file of a folder and its subfolders for an answer. */
int take_from_folder(const assay_plan* plan, const assay_args* args, const char* folder);

#endif /* ASSAY_TESTS_REDTEAM_CHEATS_ANSWERS_H_ */
