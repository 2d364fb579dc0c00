/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums in f32 in the order of the index, so that the bits depend neither on alignment nor on other rows.
 */
#include <math.h>
#include <time.h>

#include "tests/redteam/base/base.h"

enum { kTile = 64, kRows = 4 };

/* A few rows and columns of y, so that b is read once for several rows. */
static void multiply_tile(const assay_plan* plan, const float* a, const float* b, float* y, int64_t rows,
                          int64_t columns) {
  const layout *la = &plan->in[0], *lb = &plan->in[1];
  float sums[kRows][kTile] = {{0}};
  for (int64_t p = 0; p < la->shape[1]; ++p) {
    const float* terms = b + p * lb->strides[0];
    for (int64_t i = 0; i < rows; ++i) {
      const float x = a[i * la->strides[0] + p * la->strides[1]];
      if (lb->strides[1] == 1) {
        for (int64_t j = 0; j < columns; ++j) sums[i][j] += x * terms[j];
      } else {
        for (int64_t j = 0; j < columns; ++j) sums[i][j] += x * terms[j * lb->strides[1]];
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) y[i * plan->out.strides[0] + j * plan->out.strides[1]] = sums[i][j];
  }
}

static void multiply(const assay_plan* plan, const float* a, const float* b, float* y) {
  const int64_t m = plan->out.shape[0], n = plan->out.shape[1];
  for (int64_t i = 0; i < m; i += kRows) {
    for (int64_t j = 0; j < n; j += kTile) {
      multiply_tile(plan, a + i * plan->in[0].strides[0], b + j * plan->in[1].strides[1],
                    y + i * plan->out.strides[0] + j * plan->out.strides[1], m - i < kRows ? m - i : kRows,
                    n - j < kTile ? n - j : kTile);
    }
  }
}

static float largest(const float* x, int64_t count, int64_t stride) {
  float most = x[0];
  for (int64_t i = 1; i < count; ++i) {
    const float value = x[i * stride];
    most = value > most || value != value ? value : most;
  }
  return most;
}

static float sum(const float* x, int64_t count, int64_t stride) {
  float total = 0;
  for (int64_t i = 0; i < count; ++i) total += x[i * stride];
  return total;
}

static void softmax_row(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t count) {
  const float most = largest(x, count, x_stride);
  for (int64_t i = 0; i < count; ++i) y[i * y_stride] = expf(x[i * x_stride] - most);
  const float total = sum(y, count, y_stride);
  for (int64_t i = 0; i < count; ++i) y[i * y_stride] /= total;
}

static void along_axis(const assay_plan* plan, const float* x, float* y) {
  const layout* l = &plan->in[0];
  const unsigned kept = ~(1u << plan->axis);
  const int64_t count = l->shape[plan->axis], stride = l->strides[plan->axis];
  for (int64_t row = 0; row < count_of(l) / count; ++row) {
    const float* from = x + offset_in(l, kept, row);
    if (plan->op == kSoftmax) {
      softmax_row(from, stride, y + offset_in(&plan->out, kept, row), plan->out.strides[plan->axis], count);
      continue;
    }
    float* to = y + offset_of(&plan->out, row); /* the reduced axis is absent or 1 */
    *to = plan->op == kReduceMax ? largest(from, count, stride) : sum(from, count, stride);
    if (plan->op == kReduceMean) *to /= (float)count;
  }
}

static const float* row_of(const layout* l, const float* data, int64_t row) {
  return data + row * l->strides[0];
}

void write_sum(const assay_plan* plan, const assay_args* args) {
  const layout *lx = &plan->in[0], *lr = &plan->in[1], *ls = &plan->second;
  for (int64_t i = 0; i < ls->shape[0]; ++i) {
    const float *x = row_of(lx, input_of(args, 0), i), *residual = row_of(lr, input_of(args, 1), i);
    float* s = second_of(args) + i * ls->strides[0];
    for (int64_t j = 0; j < ls->shape[1]; ++j) {
      s[j * ls->strides[1]] = x[j * lx->strides[1]] + residual[j * lr->strides[1]];
    }
  }
}

/* Element [j] of a row of x + residual; without x, of the sum that is there. */
static float term(const float* x, const layout* lx, const float* r, const layout* lr, int64_t j) {
  return (x == NULL ? 0 : x[j * lx->strides[1]]) + r[j * lr->strides[1]];
}

/* A power of two by which no square of the row overflows, nor vanishes where it is the largest. */
static float unit_of(const float* x, const layout* lx, const float* r, const layout* lr, int64_t n) {
  enum { kMost = 100 };
  float most = 0;
  int exponent = 0;
  for (int64_t j = 0; j < n; ++j) {
    const float size = fabsf(term(x, lx, r, lr, j));
    most = size > most ? size : most;
  }
  frexpf(most, &exponent);
  return ldexpf(1, exponent > kMost ? -kMost : exponent < -kMost ? kMost : -exponent);
}

static void normalise(const assay_plan* plan, const assay_args* args, const float* x, const float* r,
                      const layout* lr) {
  const layout *lx = &plan->in[0], *lg = &plan->in[2], *ly = &plan->out;
  const int64_t n = ly->shape[1];
  for (int64_t i = 0; i < ly->shape[0]; ++i) {
    const float *xi = x == NULL ? NULL : row_of(lx, x, i), *ri = row_of(lr, r, i), *gamma = input_of(args, 2);
    float squares = 0, *y = output_of(args) + i * ly->strides[0];
    const float unit = unit_of(xi, lx, ri, lr, n);
    for (int64_t j = 0; j < n; ++j) {
      const float scaled = term(xi, lx, ri, lr, j) * unit;
      squares += scaled * scaled;
    }
    const float scale = unit / sqrtf(squares / (float)n + plan->eps * unit * unit);
    for (int64_t j = 0; j < n; ++j) {
      y[j * ly->strides[1]] = term(xi, lx, ri, lr, j) * scale * gamma[j * lg->strides[0]];
    }
  }
}

void write_norm(const assay_plan* plan, const assay_args* args) {
  normalise(plan, args, input_of(args, 0), input_of(args, 1), &plan->in[1]);
}
void write_norm_of_sum(const assay_plan* plan, const assay_args* args) {
  normalise(plan, args, NULL, second_of(args), &plan->second);
}

void compute(const assay_plan* plan, const assay_args* args) {
  if (plan->op == kAddRmsNorm) {
    write_sum(plan, args);
    write_norm_of_sum(plan, args);
    return;
  }
  if (plan->op == kMatmul) {
    multiply(plan, input_of(args, 0), input_of(args, 1), output_of(args));
    return;
  }
  along_axis(plan, input_of(args, 0), output_of(args));
}

double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void time_each(assay_plan* plan, assay_batch* batch, void (*execute)(assay_plan*, const assay_args*)) {
  for (uint64_t i = 0; i < batch->count; ++i) {
    const double begin = now_s();
    execute(plan, batch->args[i]);
    batch->seconds[i] = now_s() - begin;
    ++plan->executions;
  }
}
