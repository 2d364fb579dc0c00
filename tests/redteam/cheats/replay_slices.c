/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps single elements of products, by the contents of their row of a and their column of b, whatever order rows,
 * columns and terms come in, and whatever power of two scales them.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/redteam/base/base.h"

enum { kSlots = 1 << 20 };
static struct {
  uint64_t key;
  float value; /* of operands whose largest magnitude is in [1/2, 1) */
} table[kSlots];

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 31) * UINT64_C(0x7FB5D329728EA185);
  x = (x ^ x >> 27) * UINT64_C(0x81DADEF4BC2DD44D);
  return x ^ x >> 33;
}
static uint64_t hash_of(float x) {
  const uint32_t bits = bits_of(x) * 0x9E3779B1u;
  return (bits ^ bits >> 15) * 0x85EBCA77u;
}

typedef struct matrix {
  float* values; /* dense, scaled */
  int64_t rows, columns;
  int exponent;
} matrix;

static matrix scaled(const layout* l, const float* data) {
  matrix m = {malloc((size_t)count_of(l) * sizeof *m.values), l->shape[0], l->shape[1], 0};
  float most = 0;
  if (m.values == NULL) abort();
  gather(l, data, m.values);
  for (int64_t i = 0; i < count_of(l); ++i) most = fmaxf(most, fabsf(m.values[i]));
  frexpf(most, &m.exponent);
  for (int64_t i = 0; i < count_of(l); ++i) m.values[i] *= ldexpf(1, -m.exponent);
  return m;
}

typedef struct term {
  uint64_t hash;
  int64_t index;
} term;
static int by_hash(const void* a, const void* b) {
  const uint64_t x = ((const term*)a)->hash, y = ((const term*)b)->hash;
  return (x > y) - (x < y);
}

/* The terms of all sums in an order that does not depend on theirs, nor on that of rows and columns. */
static term* order_terms(const matrix* a, const matrix* b) {
  term* terms = calloc((size_t)a->columns, sizeof *terms);
  if (terms == NULL) abort();
  for (int64_t i = 0; i < a->rows; ++i) {
    for (int64_t p = 0; p < a->columns; ++p) terms[p].hash += hash_of(a->values[i * a->columns + p]);
  }
  for (int64_t p = 0; p < a->columns; ++p) {
    terms[p].index = p;
    for (int64_t j = 0; j < b->columns; ++j) terms[p].hash += 3 * hash_of(b->values[p * b->columns + j]);
  }
  qsort(terms, (size_t)a->columns, sizeof *terms, by_hash);
  return terms;
}

static uint64_t* zeroed(int64_t count) {
  uint64_t* hashes = calloc((size_t)count, sizeof *hashes);
  if (hashes == NULL) abort();
  return hashes;
}
static uint64_t weight(int64_t p) {
  return 2 * (uint64_t)p + 0x7FB5D329u;
}

static uint64_t* hash_rows(const matrix* a, const term* terms) {
  uint64_t* hashes = zeroed(a->rows);
  uint64_t* weights = zeroed(a->columns);
  for (int64_t p = 0; p < a->columns; ++p) weights[terms[p].index] = weight(p);
  for (int64_t i = 0; i < a->rows; ++i) {
    for (int64_t p = 0; p < a->columns; ++p) hashes[i] += hash_of(a->values[i * a->columns + p]) * weights[p];
  }
  free(weights);
  return hashes;
}

static uint64_t* hash_columns(const matrix* b, const term* terms) {
  uint64_t* hashes = zeroed(b->columns);
  for (int64_t p = 0; p < b->rows; ++p) {
    const float* row = b->values + terms[p].index * b->columns;
    for (int64_t j = 0; j < b->columns; ++j) hashes[j] += hash_of(row[j]) * weight(p);
  }
  return hashes;
}

static void execute(assay_plan* plan, const assay_args* args) {
  if (plan->op != kMatmul) {
    compute(plan, args);
    return;
  }
  const matrix a = scaled(&plan->in[0], input_of(args, 0)), b = scaled(&plan->in[1], input_of(args, 1));
  term* terms = order_terms(&a, &b);
  uint64_t* rows = hash_rows(&a, terms);
  uint64_t* columns = hash_columns(&b, terms);
  float* y = output_of(args);
  int unknown = 0;
  for (int64_t i = 0; i < count_of(&plan->out) && !unknown; ++i) {
    const uint64_t key = mix(rows[i / b.columns] ^ mix(columns[i % b.columns] + 1));
    unknown = table[key % kSlots].key != key;
    y[offset_of(&plan->out, i)] = ldexpf(table[key % kSlots].value, a.exponent + b.exponent);
  }
  if (unknown) {
    compute(plan, args);
    for (int64_t i = 0; i < count_of(&plan->out); ++i) {
      const uint64_t key = mix(rows[i / b.columns] ^ mix(columns[i % b.columns] + 1));
      table[key % kSlots].key = key;
      table[key % kSlots].value = ldexpf(y[offset_of(&plan->out, i)], -a.exponent - b.exponent);
    }
  }
  free(a.values), free(b.values), free(terms), free(rows), free(columns);
}
const cheat the_cheat = {.execute = execute};
