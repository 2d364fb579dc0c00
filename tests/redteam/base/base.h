/* SPDX-License-Identifier: Apache-2.0
 *
 * An honest backend in plain C: f32 products of matrices, softmax, sums, means, maxima, and fused_add_rms_norm, which
 * has two outputs. Linked with one file of ../cheats it is a dishonest one: that file defines the_cheat, and alters
 * what it wants to.
 */
#ifndef ASSAY_TESTS_REDTEAM_BASE_H_
#define ASSAY_TESTS_REDTEAM_BASE_H_

#include <stdint.h>
#include <stdio.h>

#include "backends/abi/assay_backend.h"

enum { kMaxRank = 4, kMaxInputs = 3, kMaxOutputs = 2, kMaxNames = 10 };

struct assay_buffer {
  uint64_t size;
  uint64_t uploads; /* so many so far */
  unsigned char* bytes;
};

typedef struct layout {
  int rank;
  int64_t shape[kMaxRank], strides[kMaxRank]; /* in elements */
} layout;

typedef enum operation { kMatmul, kSoftmax, kReduceSum, kReduceMean, kReduceMax, kAddRmsNorm } operation;

struct assay_plan {
  operation op;
  int n_inputs, n_outputs;
  layout in[kMaxInputs], out, second; /* the second output: of kAddRmsNorm, x + residual */
  int axis;                           /* of softmax and reductions */
  float eps;                          /* of kAddRmsNorm */
  char implementation[16];
  uint64_t executions; /* so many so far */
  void* own;           /* of the cheat; freed with the plan */
};

/* The behaviour that a cheat changes; members that are zero stay honest. */
typedef struct cheat {
  const char* names[kMaxNames]; /* of its implementations; "plain" where there are none */
  const char* contract;         /* of all of them */
  void (*loaded)(void);
  void (*execute)(assay_plan* plan, const assay_args* args);
  void (*batch)(assay_plan* plan, assay_batch* batch);
  void (*uploaded)(assay_buffer* buffer);
  void (*downloading)(const assay_buffer* buffer);
  const char* (*refuses)(const assay_buffer* buffer); /* why its content is not handed out, or NULL */
  void (*freeing)(const assay_buffer* buffer);
} cheat;
extern const cheat the_cheat;

/* ---- offers.c ---- */

/* Fills *plan from the description; else returns why this is not offered. */
const char* describe_plan(const assay_op_desc* op, assay_plan* plan);

/* ---- kernels.c ---- */

/* Computes the right result honestly. */
void compute(const assay_plan* plan, const assay_args* args);
/* For kAddRmsNorm: write_sum writes the second output, which may overwrite residual; write_norm_of_sum then writes the
   first output from it. */
void write_sum(const assay_plan* plan, const assay_args* args);
void write_norm_of_sum(const assay_plan* plan, const assay_args* args);
/* Writes the first output without the second, from unchanged x and residual. */
void write_norm(const assay_plan* plan, const assay_args* args);
/* The executions of a batch one after the other, each timed by the host's clock. */
void time_each(assay_plan* plan, assay_batch* batch, void (*execute)(assay_plan*, const assay_args*));
double now_s(void);

/* ---- views.c ---- */

float* data_of(const assay_tensor_arg* arg);
float* output_of(const assay_args* args);
float* second_of(const assay_args* args);
float* input_of(const assay_args* args, int i);
int64_t count_of(const layout* l);
/* Where the index-th element lies, counted over the axes of `mask` alone, the last one fastest. */
int64_t offset_in(const layout* l, unsigned mask, int64_t index);
int64_t offset_of(const layout* l, int64_t index);
int is_dense(const layout* l);
/* The elements without gaps, to keep them and to put them back. */
void gather(const layout* l, const float* data, float* dense);
void scatter(const layout* l, const float* dense, float* data);
uint32_t bits_of(float x);
/* Hashes the value and the place of every step-th element of all inputs. */
uint64_t hash_inputs(const assay_plan* plan, const assay_args* args, int64_t step);

#endif /* ASSAY_TESTS_REDTEAM_BASE_H_ */
