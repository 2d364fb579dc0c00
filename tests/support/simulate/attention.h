// SPDX-License-Identifier: Apache-2.0
// Attention as correct implementations compute it: scores at once or by blocks of keys, probabilities normalised before
// or after the weighted sum, stored as the contract says, by one unit or several; and as faulty ones do.
#pragma once

#include "ops/attention/attention.h"
#include "tests/support/simulate/functions.h"

namespace assay::test {

// How units that each took some of the keys, with the maximum m, the sum l and the weighted sum o of their own, are
// joined. Log-sums are m + log l, kept beside o / l, which then weighs exp(log-sum - m'): m' is the largest log-sum and
// the weights' sum divides, or m' is the log-sum of all, and nothing does.
enum class UnitJoin : uint8_t { kSums, kLogSums, kLogSumOfAll };

struct AttentionForm {
  Schedule schedule;
  Bias bias = Bias::kNone;
  int64_t block = 0;       // 0: all keys at once
  bool normalise = false;  // P is divided before PV
  bool base2 = false;      // exp2 of scores times a rounded log2 e
  bool scale_q = false;    // q is scaled instead of the scores
  int64_t units = 1;       // normalise: only of a single one
  bool strided = false;    // a unit takes every so-manyth key instead of those that follow each other
  UnitJoin join = UnitJoin::kSums;
  bool fused = false;          // with base2: score times log2 e less the maximum's is one operation
  bool natural_joins = false;  // with base2: log-sums are in units of 1, not of ln 2
};
std::vector<AttentionForm> AllAttentionForms(uint64_t seed);
// Forms with several units, with every join; at most `most` units.
std::vector<AttentionForm> AllUnitForms(uint64_t seed, int64_t most = 64);

// Faults to simulate. Keys are positions among those that the query sees.
struct AttentionFault {
  bool drop_first = false, drop_last = false;  // lost key, lost diagonal
  bool leak_next = false;                      // causal mask off by one
  bool next_kv_head = false;                   // wrong group
  double scale = 1;                            // wrong scale
};

std::vector<double> RunAttentionRow(const Problem& problem, std::span<const Tensor> inputs, int64_t row,
                                    const Contract& contract, const AttentionForm& form,
                                    const AttentionFault& fault = {});
// All rows.
std::vector<double> RunAttention(const Problem& problem, std::span<const Tensor> inputs, const Contract& contract,
                                 const AttentionForm& form);

}  // namespace assay::test
