// SPDX-License-Identifier: Apache-2.0
// The hard bound of softmax (VERDICT.md 2), made rigorous: no term is cut off after first order. It holds for
// subtract-max, three-pass and online forms in any order and any block size: a term of the running sum then meets up to
// n rescalings, whose differences telescope to its own |x_j - m|. Division or multiplication by a reciprocal. log: x -
// m - ln l or x - (m + ln l). An input class that rounds can merge inputs however far apart, and the largest numbers
// become infinite: where it moves the exponents by too much, nothing is promised to the whole row.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "harness/base/parallel.h"
#include "harness/data/infinity.h"
#include "ops/exp_error.h"
#include "ops/lost_terms.h"
#include "ops/softmax/softmax.h"

namespace assay {
namespace {

// Errors of the exponents x_j - m: at most relative * |x_j - m| + absolute.
struct ExponentError {
  double relative = 0, absolute = 0;
};

ExponentError OfExponent(const OperationErrors& op, DType in, double peak) {
  const double rounded = Join(op.u, op.mid);
  const double flushed = op.flushes_inputs ? 2 * FormatOf(in).MinNormal() : 0;
  // |x_j| <= |m| + |x_j - m|.
  return {Join(rounded, op.in), (2 * op.in * peak + flushed) * (1 + rounded) + 2 * op.lambda};
}

// |l^ - l| / l
double SumError(const OperationErrors& op, const ExponentError& exponent, double n, double spread) {
  return Join(SpreadError(exponent.relative, exponent.absolute, spread, n), RunningSumError(op, n));
}

double Relative(const OperationErrors& op, DType in, double n, double distance, double spread, double peak) {
  const ExponentError exponent = OfExponent(op, in, peak);
  const double sum = SumError(op, exponent, n, spread);
  if (!(sum < 1)) return kInfinity;
  const double own = std::expm1(exponent.relative * distance + exponent.absolute);
  const double rounded = Join(Join(op.eps, op.mid), Join(op.eps, op.u));
  return (1 + own) * (1 + rounded) / (1 - sum) - 1;
}

// The same of a probability of zero, absolutely: of x = -inf, whose distance is zero, or of one of at most
// exp(-distance) that no double holds.
double Vanished(const OperationErrors& op, DType in, double n, double distance, double spread, double peak) {
  const ExponentError exponent = OfExponent(op, in, peak);
  const double others = Relative(op, in, n, 0, spread, peak);
  if (others == kInfinity || distance == 0) return others == kInfinity ? others : 0;
  return std::exp(exponent.relative * distance + exponent.absolute - distance) * (1 + others);
}

// ln l^ - ln l is at most sum / (1 - sum); the rest are roundings of the parts of x - m - ln l or x - (m + ln l).
double LogError(const OperationErrors& op, DType in, double n, double distance, double spread, double peak,
                double size) {
  const ExponentError exponent = OfExponent(op, in, peak);
  const double sum = SumError(op, exponent, n, spread);
  if (!(sum < 1)) return kInfinity;
  const double logarithm = std::max(0.0, size - distance) + size * 0x1p-20;  // ln l; the planes are rounded up
  const double parts = exponent.relative * distance + exponent.absolute + sum / (1 - sum) + op.eps * logarithm;
  // Each by itself: f64's largest numbers leave no room for a sum.
  const double rounded = op.u * peak + 2 * op.u * logarithm + op.u * size;
  return (parts + rounded) * (1 + 4 * op.u) * (1 + op.mid) + op.mid * logarithm + op.mid * size + 4 * op.lambda +
         op.mid_abs;
}

void FollowMaskedPolicy(BoundModel& bound, const Golden& golden, const Contract& contract, bool log) {
  const Plane* masked = golden.Extra("masked");
  if (masked == nullptr || contract.masked == MaskedRows::kNan) return;
  if (contract.masked == MaskedRows::kAny) {
    AdmitWhere(bound, *masked, 1, kAnything);
  } else {
    bound.value_where.push_back({masked, 1, log ? -kInfinity : 0});
  }
}

// Errors of one exponential, logarithm or division may lie anywhere within the contract's ulp, and those of the row's
// sum are the same for the whole row: systematic. Of the rescalings of an online sum, about log2 n meet a new maximum.
StatisticModel SoftmaxStatistic(const SoftmaxCase& op, const Golden& golden, const Contract& contract,
                                const OperationErrors& errors) {
  StatisticModel statistic;
  statistic.applicable = errors.in == 0 && errors.mid == 0 && contract.acc != Accumulator::kTensorCore;
  statistic.shared = true;
  if (op.inner == 1) statistic.sharing = op.terms;
  const double functions = errors.eps * (3 + std::log2(static_cast<double>(op.terms)));
  statistic.stagnates = static_cast<double>(op.terms) * errors.u > 0.125;
  statistic.of_value = op.log ? errors.eps : functions;
  statistic.constant = 4 * errors.lambda + (op.log ? functions : 0);
  // x - (m + ln l) rounds m + ln l.
  if (op.log) statistic.deviations.push_back({golden.Extra("peak"), kRoundingDeviation * contract.AccUnitRoundoff()});
  return statistic;
}

// What an element may be off beside what its row shares. exp(x - m) and the division by the row's sum: two functions,
// and a third one where exponentials are kept and rescaled when the maximum is known. x - m and its product with log2 e
// round by u |x - m| each, log2 e itself is off by less than that; the products round. Logarithms subtract once more.
// Where numbers are subnormal, an ulp is the smallest one.
void AddSharedRow(const SoftmaxCase& op, const Golden& golden, const OperationErrors& errors, BoundModel& bound) {
  const Plane& distance = *golden.Extra("distance");
  const auto allowance = std::make_shared<Plane>(golden.size(), golden.magnitude.wide());
  const double lost = (4 + 2 * errors.eps / errors.u) * errors.lambda;
  ParallelFor(golden.size(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double size = golden.magnitude[i], exponent = 1.5 * errors.u * distance[i];
      const double own =
          op.log ? exponent + (errors.eps + errors.u) * size : size * (exponent + 3 * errors.eps + 2 * errors.u);
      allowance->SetUp(i, own + lost);
    }
  });
  bound.statistic.shared_row = {allowance.get(), op.terms, op.inner, op.log};
  bound.owned.push_back(allowance);
}

// What the sums of rows lose (lost_terms.h), relative to probabilities and absolutely in their logarithms.
void AddLostSums(const SoftmaxCase& op, const Golden& golden, const Contract& contract, BoundModel& bound) {
  const double u = contract.AccUnitRoundoff();
  const auto lost = std::make_shared<Plane>(golden.size(), golden.magnitude.wide());
  std::atomic<bool> any = false;
  ParallelFor(op.rows, std::max<int64_t>(1, 4096 / op.terms), [&](int64_t begin, int64_t end) {
    std::vector<double> shares(static_cast<size_t>(op.terms));
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t k = 0; k < op.terms; ++k) {
        const double y = golden.value[op.Offset(row, k)];
        shares[k] = op.log ? std::exp(y) : y;
      }
      const double share = LostShare(shares, u);
      if (!(share >= u)) continue;
      any = true;
      for (int64_t k = 0; k < op.terms; ++k) lost->SetUp(op.Offset(row, k), op.log ? share : share * shares[k]);
    }
  });
  if (!any) return;
  AddLostTerms(lost.get(), u, contract, bound);
  bound.owned.push_back(lost);
}

}  // namespace

double SoftmaxRelativeError(const Contract& contract, DType in, double n, double distance, double spread, double peak) {
  return Relative(OperationErrors(contract), in, n, distance, spread, peak);
}

BoundModel SoftmaxBound(const Problem& problem, const Golden& golden, const Contract& contract) {
  const SoftmaxCase op(problem);
  const DType in = problem.inputs[0].dtype;
  const OperationErrors errors(contract);
  const auto n = static_cast<double>(op.terms);
  const Plane &distance = *golden.Extra("distance"), &spread = *golden.Extra("spread"), &peak = *golden.Extra("peak");
  const bool masked_any = contract.masked == MaskedRows::kAny && golden.Extra("masked") != nullptr;

  const auto owned = std::make_shared<Plane>(golden.size(), golden.magnitude.wide());
  ParallelFor(golden.size(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double size = golden.magnitude[i];
      double a = errors.mid_abs + 4 * errors.lambda;
      if (op.log) {
        a = LogError(errors, in, n, distance[i], spread[i], peak[i], size);
      } else if (golden.value[i] > 0) {
        a += size * Relative(errors, in, n, distance[i], spread[i], peak[i]);
      } else if (golden.value[i] == 0) {
        a += Vanished(errors, in, n, distance[i], spread[i], peak[i]);
      }
      if (std::isinf(golden.value[i]) && a < kInfinity) a = 0;  // ln 0, exactly
      if (masked_any && (*golden.Extra("masked"))[i] >= 1) a = kInfinity;
      owned->SetUp(i, a * (1 + 0x1p-40));
    }
  });
  BoundModel bound = OutputBound(contract, problem.output().dtype);
  bound.terms.push_back({owned.get(), 1});
  bound.owned.push_back(owned);
  bound.statistic = SoftmaxStatistic(op, golden, contract, errors);
  if (bound.statistic.applicable) {
    AddLostSums(op, golden, contract, bound);
    AddSharedRow(op, golden, errors, bound);
  }
  FollowMaskedPolicy(bound, golden, contract, op.log);
  return bound;
}

}  // namespace assay
