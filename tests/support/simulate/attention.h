// SPDX-License-Identifier: Apache-2.0
// Attention as correct implementations compute it: scores at once or by blocks of keys, probabilities normalised before
// or after the weighted sum, stored as the contract says; and as faulty ones do.
#pragma once

#include "ops/attention/attention.h"
#include "tests/support/simulate/functions.h"

namespace assay::test {

struct AttentionForm {
  Schedule schedule;
  Bias bias = Bias::kNone;
  int64_t block = 0;       // 0: all keys at once
  bool normalise = false;  // P is divided before PV
  bool base2 = false;      // exp2 of scores times a rounded log2 e
  bool scale_q = false;    // q is scaled instead of the scores
};
std::vector<AttentionForm> AllAttentionForms(uint64_t seed);

// What to do wrong. Keys are positions among those that the query sees.
struct AttentionFault {
  bool drop_first = false, drop_last = false;  // lost key, lost diagonal
  bool leak_next = false;                      // causal mask off by one
  bool next_kv_head = false;                   // wrong group
  double scale = 1;                            // wrong scale
};

std::vector<double> RunAttentionRow(const Problem& problem, std::span<const Tensor> inputs, int64_t row,
                                    const Contract& contract, const AttentionForm& form,
                                    const AttentionFault& fault = {});

}  // namespace assay::test
