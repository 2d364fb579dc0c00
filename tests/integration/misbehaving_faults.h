/* SPDX-License-Identifier: Apache-2.0
 * Faults of an execution of misbehaving_plugin.c: each gets a correct y, and spoils it or the process. */
#pragma once

typedef void (*spoil)(assay_plan* plan, view a, view b, view y);
struct fault {
  const char* name;
  const char* contract;
  spoil before; /* may be NULL; runs before y is written */
  spoil after;
};

static float* at(view v, int64_t i, int64_t j) {
  return v.data + i * v.row + j * v.column;
}

#define FAULT(name) static void name(assay_plan* plan, view a, view b, view y)
#define UNUSED (void)plan, (void)a, (void)b, (void)y

FAULT(segfault) {
  UNUSED;
  raise(SIGSEGV);
}
FAULT(crash_once) { /* in the one execution, from the ASSAY_ONCE_AFTER-th of a plan on, that creates ASSAY_ONCE_FILE */
  UNUSED;
  const char* file = getenv("ASSAY_ONCE_FILE");
  const char* after = getenv("ASSAY_ONCE_AFTER");
  if (file == NULL || plan->executions < strtoull(after != NULL ? after : "0", NULL, 10)) return;
  if (open(file, O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0) raise(SIGSEGV);
}
FAULT(abort_now) {
  UNUSED;
  fprintf(stderr, "misbehaving: about to abort\n");
  abort();
}
FAULT(exit_now) {
  UNUSED;
  exit(3);
}
FAULT(hang) {
  UNUSED;
  for (;;) pause();
}
FAULT(close_descriptors) {
  UNUSED;
  for (int fd = 0; fd < 64; ++fd) close(fd);
  for (;;) pause();
}
FAULT(leave_child) { /* a process of its own that would stay behind */
  UNUSED;
  const pid_t child = fork();
  while (child == 0) pause();
  fprintf(stderr, "child=%d\n", (int)child);
  abort();
}
FAULT(babble) { /* text where only messages belong */
  UNUSED;
  for (int fd = 3; fd < 64; ++fd) {
    if (write(fd, "hello", 5) < 0) continue;
  }
}
FAULT(chatter) { /* more than any pipe holds */
  UNUSED;
  for (int line = 0; line < 20000; ++line) printf("chatter line %d \033[31m\n", line);
}
FAULT(compile_late) { /* as compilers that begin with the first execution */
  UNUSED;
  if (plan->executions == 0) usleep(300000);
}
FAULT(write_before) {
  UNUSED;
  y.data[-1] = 1;
}
FAULT(write_after) {
  UNUSED;
  *(at(y, plan->m - 1, plan->n - 1) + 1) = 1;
}
FAULT(write_gap) { /* past the end of the first row: y[1,0] in a dense layout, a gap in a padded one */
  UNUSED;
  *(at(y, 0, plan->n - 1) + 1) = 1;
}
FAULT(change_input) {
  UNUSED;
  *at(a, 0, 1) += 1;
}
FAULT(leaves_rounding) {
  UNUSED;
  fesetround(FE_UPWARD);
}
FAULT(nan_result) {
  UNUSED;
  *at(y, 0, 0) = NAN;
}
FAULT(nondeterministic) { /* a legal result each time, but every other time summed from the other end */
  if (plan->executions % 2 == 0) return;
  for (int64_t i = 0; i < plan->m; ++i) {
    for (int64_t j = 0; j < plan->n; ++j) {
      float sum = 0;
      for (int64_t k = plan->k - 1; k >= 0; --k) sum += *at(a, i, k) * *at(b, k, j);
      *at(y, i, j) = sum;
    }
  }
}
static void sum_backwards(const assay_plan* plan, view a, view b, view y, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t k = plan->k - 1; k >= 0; --k) sum += *at(a, i, k) * *at(b, k, j);
  *at(y, i, j) = sum;
}
FAULT(depends_on_row) { /* legal results, but a row's bits depend on where it stands */
  for (int64_t i = 1; i < plan->m; i += 2) {
    for (int64_t j = 0; j < plan->n; ++j) sum_backwards(plan, a, b, y, i, j);
  }
}
FAULT(depends_on_batch) { /* legal results, but a row's bits depend on how many there are */
  if (plan->m < 2) return;
  for (int64_t i = 0; i < plan->m; ++i) {
    for (int64_t j = 0; j < plan->n; ++j) sum_backwards(plan, a, b, y, i, j);
  }
}
FAULT(depends_on_column) { /* legal, and nothing claims otherwise */
  for (int64_t i = 0; i < plan->m; ++i) {
    for (int64_t j = 1; j < plan->n; j += 2) sum_backwards(plan, a, b, y, i, j);
  }
}
FAULT(rounds_up) { /* by one ulp, within the bound, but not to nearest */
  UNUSED;
  for (int64_t j = 0; j < plan->n; ++j) {
    const float sum = *at(y, 0, j);
    if (sum != truncf(sum)) *at(y, 0, j) = nextafterf(sum, INFINITY);
  }
}
FAULT(drop_last_k) { /* of one element */
  UNUSED;
  *at(y, 0, 0) -= *at(a, 0, plan->k - 1) * *at(b, plan->k - 1, 0);
}
FAULT(wrong_later) { /* not before the process has seen it a few times, as a cache that fills up would be */
  static int executions;
  UNUSED;
  if (executions++ >= 24) *at(y, 0, 0) += 1;
}

static float to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
  memcpy(&x, &bits, sizeof x);
  return x;
}
FAULT(liar) { /* declares an f32 accumulator, has a bf16 one */
  for (int64_t i = 0; i < plan->m; ++i) {
    for (int64_t j = 0; j < plan->n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < plan->k; ++p) sum = to_bf16(sum + *at(a, i, p) * *at(b, p, j));
      *at(y, i, j) = sum;
    }
  }
}

#ifdef ASSAY_TEST_HOSTILE
FAULT(attempt) { /* a wrong result where what ASSAY_TEST_ATTEMPT names succeeds, in the first execution of a process */
  static int attempts;
  UNUSED;
  if (attempts++ == 0 && hostile_attempt(getenv("ASSAY_TEST_ATTEMPT"))) *at(y, 0, 0) += 1;
}
#endif

/* "unwritten", "unwritten_row" and "stale" are faults of the loop itself: see skips(); "ignores_padding" is one of
 * plan_create. */
static const struct fault kFaults[] = {
    {"ok", "f32acc;det=yes", NULL, NULL},
    {"keeps_prepared", "f32acc", NULL, NULL},
    {"segfault", "f32acc", segfault, NULL},
    {"crash_once", "f32acc", crash_once, NULL},
    {"abort", "f32acc", abort_now, NULL},
    {"exit", "f32acc", exit_now, NULL},
    {"hang", "f32acc", hang, NULL},
    {"close_descriptors", "f32acc", close_descriptors, NULL},
    {"leave_child", "f32acc", leave_child, NULL},
    {"babble", "f32acc", babble, NULL},
    {"chatter", "f32acc", chatter, NULL},
    {"write_before", "f32acc", NULL, write_before},
    {"write_after", "f32acc", NULL, write_after},
    {"write_gap", "f32acc", NULL, write_gap},
    {"unwritten", "f32acc", NULL, NULL},
    {"unwritten_row", "f32acc", NULL, NULL},
    {"stale", "f32acc", NULL, NULL},
    {"change_input", "f32acc", NULL, change_input},
    {"liar", "f32acc", NULL, liar},
    {"nondeterministic", "f32acc;det=yes", NULL, nondeterministic},
    {"nan_result", "f32acc", NULL, nan_result},
    {"garbage_contract", "acc=f99", NULL, NULL},
    {"leaves_rounding", "f32acc", NULL, leaves_rounding},
    {"drop_last_k", "f32acc", NULL, drop_last_k},
    {"slow_prepare", "f32acc", NULL, NULL},
    {"ignores_padding", "f32acc", compile_late, NULL},
    {"depends_on_row", "f32acc;det=yes;batchinv=yes", NULL, depends_on_row},
    {"depends_on_batch", "f32acc;det=yes;batchinv=yes", NULL, depends_on_batch},
    {"depends_on_column", "f32acc;det=yes", NULL, depends_on_column},
    {"rounds_up", "f32acc;det=yes", NULL, rounds_up},
    {"wrong_later", "f32acc", NULL, wrong_later},
#ifdef ASSAY_TEST_HOSTILE
    {"attempt", "f32acc", NULL, attempt},
#endif
};
enum { kFaultCount = sizeof kFaults / sizeof kFaults[0] };

static int is(const assay_plan* plan, const char* name) {
  return strcmp(plan->fault->name, name) == 0;
}

static int skips(const assay_plan* plan, int64_t i, int64_t j) {
  if (is(plan, "unwritten")) return i == plan->m - 1 && j == plan->n - 1;
  if (is(plan, "unwritten_row")) return i == plan->m - 1;
  return is(plan, "stale") && plan->executions > 0;
}
