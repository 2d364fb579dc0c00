/* SPDX-License-Identifier: Apache-2.0
 *
 * libassay: judges what an operator computed, in the process that computed it. Plain C11, and C++.
 *
 *   int64_t shape[2] = {64, 64};
 *   assay_array a = {.struct_size = sizeof a, .name = "a", .data = A, .shape = shape, .rank = 2,
 *                    .type_code = ASSAY_FLOAT, .bits = 32, .lanes = 1};          (b and y alike)
 *   const assay_array* inputs[] = {&a, &b}, *outputs[] = {&y};
 *   assay_question question = {.struct_size = sizeof question, .op = "matmul", .n_inputs = 2, .inputs = inputs,
 *                              .n_outputs = 1, .outputs = outputs};
 *   assay_verdict* verdict;
 *   if (assay_judge(&question, &verdict) != ASSAY_RESULT_OK) fail(assay_last_error());
 *   if (!assay_verdict_passed(verdict)) fail(assay_verdict_text(verdict));
 *   assay_verdict_free(verdict);
 *
 * Rules
 *  - struct_size is the first member of every struct and is set by the caller. Structs only grow at their end, by
 *    multiples of 8 bytes and without padding there. Members that are not set are zero. A program of an older header
 *    gets what that said; one of a newer header is refused where it sets a member that this library does not know.
 *  - Strings are UTF-8 and NUL-terminated. Those that come back live as long as the object that they came from.
 *  - Functions that can fail return ASSAY_RESULT_*; assay_last_error() then says what was wrong, and what to do. What
 *    they should have made is NULL then. Nothing throws, and no argument ends the process; pointers are believed.
 *  - What is handed in is read during the call and not kept.
 *  - Calls may come from any thread, at the same time too, but one object has one caller at a time.
 *  - The caller's rounding mode and flushing of subnormal numbers do not matter, and are as before afterwards.
 */
#ifndef ASSAY_ASSAY_H_
#define ASSAY_ASSAY_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define ASSAY_API
#else
#define ASSAY_API __attribute__((visibility("default")))
#endif

#define ASSAY_RESULT_OK 0
#define ASSAY_RESULT_USAGE 1     /* something that cannot be: an operator, an attribute, a shape, a type, a contract */
#define ASSAY_RESULT_NO_MEMORY 2 /* the host has too little memory for it */
#define ASSAY_RESULT_FAILED 3    /* everything else */

ASSAY_API const char* assay_version(void); /* "0.1.0" */

/* Message of this thread's last call that failed; "" if none did. Valid until the next call that fails. */
ASSAY_API const char* assay_last_error(void);

/* Type codes of DLPack (DLDataTypeCode). */
#define ASSAY_INT 0
#define ASSAY_UINT 1 /* of 8 bits numbers; of 8 or 16 bits what `type` says that they hold */
#define ASSAY_FLOAT 2
#define ASSAY_BFLOAT 4
#define ASSAY_COMPLEX 5 /* bits: of both parts together */
#define ASSAY_BOOL 6
#define ASSAY_FLOAT8_E4M3FN 10
#define ASSAY_FLOAT8_E5M2 12

/* A tensor in the memory of the host. */
typedef struct assay_array {
  uint64_t struct_size;
  const char* name; /* of the operand; NULL: the next one of the operator's, as `assay list ops --verbose` has them */
  const void* data; /* the element whose indices are all 0; any alignment */
  const int64_t* shape;
  const int64_t* strides; /* in elements, as in DLPack: any sign, 0 repeats; NULL: row-major without gaps */
  int32_t rank;
  uint8_t type_code; /* DLDataType */
  uint8_t bits;
  uint16_t lanes; /* 1 */
  /* NULL, or the type that the elements stand for: "bf16" or "f16" of 16 bits, "e4m3", "e5m2", "u8" or "i8" of 8 bits;
   * or a narrower type that holds the values of a wider float exactly, as frameworks widen bf16. */
  const char* type;
} assay_array;

/* ---- Judging tensors ---- */

typedef struct assay_question {
  uint64_t struct_size;
  const char* op; /* "matmul" */
  uint64_t n_attrs;
  const char* const* attrs; /* n_attrs pairs: key, value, key, value; those that the shapes give may be left out */
  uint64_t n_inputs;
  const assay_array* const* inputs;
  uint64_t n_outputs;
  const assay_array* const* outputs;
  const char* contract; /* arithmetic to judge by; NULL: that of the types, as `assay check` has it */
  const char* require;  /* a contract that `contract` has to meet; NULL: none */
  const char* tier;     /* of golden values: "auto", "fast" or "reproducible"; NULL: auto */
  /* How a failure is explained: "quick", causes that are found in a second, "full", all, or "no": the verdict and its
   * figures alone, without weaker arithmetic that explains it, `weak_pass` and a text for people. NULL: quick. */
  const char* explain;
  /* About so many elements of a large output are judged, on a grid of drawn slices; 0: all. The verdict's reason says
   * how many they were, of how many, and the seed that they were drawn by. */
  uint64_t sample;
  uint64_t sample_seed; /* of what is drawn; 0: it follows from the operands */
  /* n_sample_at pairs of an output's number and that of an element in row-major order, which is always judged */
  uint64_t n_sample_at;
  const uint64_t* sample_at;
} assay_question;

typedef struct assay_verdict assay_verdict;

ASSAY_API int32_t assay_judge(const assay_question* question, assay_verdict** verdict);
ASSAY_API void assay_verdict_free(assay_verdict* verdict);

ASSAY_API int32_t assay_verdict_passed(const assay_verdict* verdict); /* 1: the verdict is "pass" */
/* 1: it is "pass", and neither of class "suspect" nor weak (`weak_pass` of the record): what `assay check --strict` and
 * strict=True in Python demand. A suspect result that passes deserves a warning: assay_verdict_reason says why. */
ASSAY_API int32_t assay_verdict_passed_strictly(const assay_verdict* verdict);
ASSAY_API const char* assay_verdict_name(const assay_verdict* verdict);   /* "pass", "mismatch", "inconclusive", ... */
ASSAY_API const char* assay_verdict_class(const assay_verdict* verdict);  /* "bit_exact", "within_class", ... */
ASSAY_API const char* assay_verdict_reason(const assay_verdict* verdict); /* "" of a plain pass */
ASSAY_API const char* assay_verdict_record(const assay_verdict* verdict); /* JSON: a line of results.jsonl */
ASSAY_API const char* assay_verdict_text(const assay_verdict* verdict);   /* for people: what `assay check` prints */

/* ---- Cases of a suite ---- */

typedef struct assay_selection {
  uint64_t struct_size;
  const char* suite;  /* a name or a path; NULL: "default", or none where there are cases */
  const char* ops;    /* comma separated; NULL: all */
  const char* dtypes; /* comma separated; NULL: all */
  const char* filter; /* globs on ids, as --filter has them; NULL: all */
  uint64_t n_cases;
  const char* const* cases; /* ids */
} assay_selection;

typedef struct assay_cases assay_cases;
typedef struct assay_case assay_case;

/* A selection without a case is a usage error, whose text says why. */
ASSAY_API int32_t assay_cases_select(const assay_selection* selection, assay_cases** cases);
ASSAY_API void assay_cases_free(assay_cases* cases);
ASSAY_API uint64_t assay_cases_count(const assay_cases* cases);
ASSAY_API const char* assay_cases_id(const assay_cases* cases, uint64_t index); /* NULL: there is no such index */

/* Makes the inputs of a case: the same bits on every machine. */
ASSAY_API int32_t assay_case_make(const assay_cases* cases, uint64_t index, assay_case** made);
ASSAY_API void assay_case_free(assay_case* one);

/* {"id", "op", "dtype", "fill", "seed", "requirement", "attrs": {key: text}, "inputs" and "outputs": [{"name",
 * "dtype", "shape"}]}; all attributes, those at their default too. */
ASSAY_API const char* assay_case_text(const assay_case* one);
ASSAY_API uint64_t assay_case_count_inputs(const assay_case* one);
ASSAY_API uint64_t assay_case_count_outputs(const assay_case* one);
/* Fill *array, whose struct_size is set; what it points to lives as long as the case. The data of an output are NULL.
 */
ASSAY_API int32_t assay_case_input(const assay_case* one, uint64_t index, assay_array* array);
ASSAY_API int32_t assay_case_output(const assay_case* one, uint64_t index, assay_array* array);

/* Judges outputs for these inputs, by `contract` or, where it is NULL, by what the suite requires or `assay check`
 * assumes. A contract that does not meet what the case requires gives "below_contract". */
ASSAY_API int32_t assay_case_judge(assay_case* one, uint64_t n_outputs, const assay_array* const* outputs,
                                   const char* contract, assay_verdict** verdict);

/* Judges a sample: `sample` and `sample_seed` as in assay_question. Golden values are not kept for the next call. */
ASSAY_API int32_t assay_case_judge_sample(assay_case* one, uint64_t n_outputs, const assay_array* const* outputs,
                                          const char* contract, uint64_t sample, uint64_t sample_seed,
                                          assay_verdict** verdict);

/* ---- Operators ---- */

/* JSON of all of them: [{"op", "doc", "inputs", "optional_inputs", "outputs", "layouts": {name: text}, "attrs":
 * [{"key", "type", "default", "choices", "doc", "other_names"}]}]; "type" is int, float, name, dims ("2x3") or axes
 * ("0+1"); "other_names" are those of other libraries with the same values, which bindings may translate. The text
 * stays valid. */
ASSAY_API int32_t assay_operators(const char** json);

/* Makes operators known that a text of definitions states (harness/python/DEFINITIONS.md), for as long as the process
 * lives. What is added twice is one operator. Errors: the text is no text of definitions; another operator has one of
 * the names. */
ASSAY_API int32_t assay_add_operators(const char* definitions);

#ifdef __cplusplus
}
#endif

#endif /* ASSAY_ASSAY_H_ */
