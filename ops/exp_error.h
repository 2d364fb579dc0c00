// SPDX-License-Identifier: Apache-2.0
// Errors of an exponential and of a sum of exponentials under a contract, for softmax, attention and logsumexp.
#pragma once

#include <vector>

#include "golden/bound/bound.h"

namespace assay {

// Relative and absolute errors of single operations under a contract.
struct OperationErrors {
  explicit OperationErrors(const Contract& contract);

  double u = 0;    // of one operation of the accumulator: 2 u_acc, so that truncation is covered (golden/bound/bound.h)
  double eps = 0;  // of one exp, log, tanh or division: math ulp of the accumulator
  double in = 0;   // of an operand's rounding to the contract's input class
  double mid = 0;  // of a score or probability that is stored in the contract's `mid` format
  double mid_abs = 0;  // what such a probability loses to underflow: half the smallest subnormal, or the normal
  double lambda = 0;   // what one operation of the accumulator loses to underflow
  double range = 0;    // the largest finite score that accumulator and `mid` hold
  bool flushes_inputs = false;
};

// The relative error of a running sum of n exponentials beside that of their exponents: each its own exponential, up to
// n additions, and with blocks of one term a rescaling by exp(m_old - m_new) for each larger term that comes later,
// `mean_rank` of them by weight (golden/sums/ranks.h). exp(0) is 1, as in ISO C (F.10.3.1): where the maximum stays,
// rescaling costs nothing. The sum is at least 1: what underflows counts absolutely.
double RunningSumError(const OperationErrors& op, double n, double mean_rank);

// exp(x - the largest x): the terms that such a sum adds.
std::vector<double> Exponentials(std::vector<double> row);

// (1 + x)(1 + y) - 1
inline double Join(double x, double y) {
  return x + y + x * y;
}

}  // namespace assay
