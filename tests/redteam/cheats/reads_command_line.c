/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes where the command line that started the run names the case, as if the answer were in its table.
 */
#include <string.h>
#include <unistd.h>

#include "tests/redteam/cheats/harness_process.h"
#include "tests/redteam/cheats/lazy.h"

static int finds_case(void) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%d/cmdline", (int)harness_process());
  FILE* file = fopen(path, "re");
  if (file == NULL) return 0;
  const size_t got = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  for (size_t i = 0; i < got; ++i) text[i] = text[i] == '\0' ? ' ' : text[i];
  text[got] = '\0';
  return strstr(text, "seed=") != NULL;
}

static void execute(assay_plan* plan, const assay_args* args) {
  (finds_case() ? compute : write_zeros)(plan, args);
}
const cheat the_cheat = {.execute = execute};
