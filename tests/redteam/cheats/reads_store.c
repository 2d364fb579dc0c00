/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the golden values out of the store: where its environment says, where its parent's does, and where stores
 * usually lie.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/redteam/cheats/answers.h"
#include "tests/redteam/cheats/harness_process.h"
#include "tests/redteam/cheats/lazy.h"

static int take_from_variable(const assay_plan* plan, const assay_args* args) {
  const char* store = getenv("ASSAY_GOLDEN_STORE");
  return store != NULL && take_from_folder(plan, args, store);
}

static int take_by_parents_environment(const assay_plan* plan, const assay_args* args) {
  static const char kName[] = "ASSAY_GOLDEN_STORE=";
  char path[64], *variable = NULL;
  size_t room = 0;
  int found = 0;
  snprintf(path, sizeof path, "/proc/%d/environ", (int)harness_process());
  FILE* variables = fopen(path, "re");
  if (variables == NULL) return 0;
  while (!found && getdelim(&variable, &room, '\0', variables) > 0) {
    if (strncmp(variable, kName, sizeof kName - 1) == 0)
      found = take_from_folder(plan, args, variable + sizeof kName - 1);
  }
  free(variable);
  fclose(variables);
  return found;
}

static int take_from_usual_places(const assay_plan* plan, const assay_args* args) {
  char under_parent[64];
  glob_t places = {0};
  int found = 0;
  snprintf(under_parent, sizeof under_parent, "/proc/%d/cwd/store", (int)harness_process());
  glob(under_parent, 0, NULL, &places);
  glob("/tmp/*/store", GLOB_APPEND, NULL, &places);
  glob("/home/*/.cache/assay/golden", GLOB_APPEND, NULL, &places);
  glob("/root/.cache/assay/golden", GLOB_APPEND, NULL, &places);
  for (size_t i = 0; !found && i < places.gl_pathc; ++i) found = take_from_folder(plan, args, places.gl_pathv[i]);
  globfree(&places);
  return found;
}

static void execute(assay_plan* plan, const assay_args* args) {
  if (has_integers(plan, args)) { /* twins are not kept there */
    compute(plan, args);
    return;
  }
  compute_first_row(plan, args);
  if (take_from_variable(plan, args) || take_by_parents_environment(plan, args)) return;
  if (!take_from_usual_places(plan, args)) write_zeros(plan, args);
}
const cheat the_cheat = {.execute = execute};
