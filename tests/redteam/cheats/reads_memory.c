/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the golden values out of the memory of the process that started the worker, by its name's way.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/redteam/cheats/answers.h"
#include "tests/redteam/cheats/harness_process.h"
#include "tests/redteam/cheats/lazy.h"

static ssize_t read_file(int fd, void* to, size_t size, uintptr_t at) {
  return pread(fd, to, size, (off_t)at);
}
static ssize_t read_other_process(int fd, void* to, size_t size, uintptr_t at) {
  const struct iovec local = {to, size}, remote = {(void*)at, size};
  (void)fd;
  return process_vm_readv(harness_process(), &local, 1, &remote, 1, 0);
}

typedef ssize_t (*reader)(int fd, void* to, size_t size, uintptr_t at);

static int look_through(const assay_plan* plan, const assay_args* args, FILE* maps, int fd, reader read_at) {
  unsigned long begin, end;
  char line[512], rights[8];
  int found = 0;
  while (!found && fgets(line, sizeof line, maps) != NULL) {
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3 || rights[1] != 'w') continue;
    if (end - begin > (UINT64_C(1) << 28)) continue;
    unsigned char* bytes = malloc(end - begin);
    const ssize_t got = bytes == NULL ? -1 : read_at(fd, bytes, end - begin, begin);
    if (got > 0) found = take_answer(plan, args, bytes, (size_t)got);
    free(bytes);
  }
  return found;
}

static int take_from_parent(const assay_plan* plan, const assay_args* args) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/maps", (int)harness_process());
  FILE* maps = fopen(path, "re");
  snprintf(path, sizeof path, "/proc/%d/mem", (int)harness_process());
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const int by_call = strcmp(plan->implementation, "vm_readv") == 0;
  const int found = maps != NULL && look_through(plan, args, maps, fd, by_call ? read_other_process : read_file);
  if (maps != NULL) fclose(maps);
  if (fd >= 0) close(fd);
  return found;
}

static void execute(assay_plan* plan, const assay_args* args) {
  compute_first_row(plan, args);
  if (!take_from_parent(plan, args)) write_zeros(plan, args);
}
const cheat the_cheat = {.names = {"proc_mem", "vm_readv"}, .execute = execute};
