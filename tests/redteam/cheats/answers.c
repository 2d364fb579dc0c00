/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden values are doubles, in memory and in files: four that follow each other and fit are no accident.
 */
#define _XOPEN_SOURCE 700
#include "tests/redteam/cheats/answers.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kProbe = 4 };

void compute_first_row(const assay_plan* plan, const assay_args* args) {
  assay_plan one = *plan;
  if (plan->op != kMatmul) return;
  one.in[0].shape[0] = one.out.shape[0] = 1;
  compute(&one, args);
}

static int fits(const assay_plan* plan, const float* y, const unsigned char* at) {
  for (int i = 0; i < kProbe; ++i) {
    double golden;
    memcpy(&golden, at + (size_t)i * sizeof golden, sizeof golden);
    const double got = y[offset_of(&plan->out, i)];
    if (!(fabs(golden - got) <= 1e-5 * fabs(got)) || got == 0) return 0;
  }
  return 1;
}

int take_answer(const assay_plan* plan, const assay_args* args, const unsigned char* bytes, size_t size) {
  const size_t wanted = (size_t)count_of(&plan->out) * sizeof(double);
  float* y = output_of(args);
  for (size_t at = 0; at + wanted <= size; ++at) {
    if (!fits(plan, y, bytes + at)) continue;
    for (int64_t i = 0; i < count_of(&plan->out); ++i) {
      double golden;
      memcpy(&golden, bytes + at + (size_t)i * sizeof golden, sizeof golden);
      y[offset_of(&plan->out, i)] = (float)golden;
    }
    return 1;
  }
  return 0;
}

static struct {
  const assay_plan* plan;
  const assay_args* args;
} asked;

static int look_into(const char* path, const struct stat* status, int type, struct FTW* ftw) {
  (void)ftw;
  const int64_t least = count_of(&asked.plan->out) * (int64_t)sizeof(double);
  if (type != FTW_F || status->st_size < least || status->st_size > 8 * least + (1 << 16)) return 0;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const size_t size = (size_t)status->st_size;
  void* bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) return 0;
  const int found = take_answer(asked.plan, asked.args, bytes, size);
  munmap(bytes, size);
  return found;
}

int take_from_folder(const assay_plan* plan, const assay_args* args, const char* folder) {
  asked.plan = plan, asked.args = args;
  return nftw(folder, look_into, 16, FTW_PHYS) == 1;
}
