// SPDX-License-Identifier: Apache-2.0
// The hard bound of softmax is that of its formula, for every order of the sum, rescaled or not
// (ops/formula/README.md). What it leaves to this file: the contract's policy for rows of -inf, and what the statistic
// knows of a row's shared errors.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "harness/base/parallel.h"
#include "harness/data/infinity.h"
#include "ops/exp_error.h"
#include "ops/formula/expr.h"
#include "ops/formula_reach.h"
#include "ops/lost_terms.h"
#include "ops/softmax/softmax.h"

namespace assay {
namespace {

using formula::Axis;
using formula::Expr;
using formula::Graph;

Graph SoftmaxGraph(bool log, int64_t outer, int64_t terms, int64_t inner) {
  Graph graph;
  const Axis o = AddAxis(graph, "outer", outer), n = AddAxis(graph, "terms", terms), i = AddAxis(graph, "inner", inner);
  const formula::Axes all = o + n + i;
  const Expr below = BelowMax(AddInput(graph, "x", all), n), e = Exp(-below), total = RescaledSum(e, n);
  AddOutput(graph, "y", log ? -(below + Max0(Log(total))) : e / total, all);
  return graph;
}

// Doubles are more than outputs of 32 bits and less show.
formula::Evaluation Reaches(const Problem& problem, const Contract& contract, const Graph& graph,
                            const std::vector<double>& x) {
  const bool dd = SizeOf(problem.output().dtype) == 8;
  const formula::ErrorRules rules = RulesFor(problem, contract, dd);
  return formula::Evaluate(graph, graph.outputs[0], {&x, 1}, dd, {&rules, 1});
}

// Numbers that the contract's input class makes -inf, far below their row's maximum, weigh nothing before and after:
// they become -inf. Returns where they are.
std::vector<int64_t> DropOverflowing(const SoftmaxCase& op, double overflow, std::vector<double>& x) {
  std::vector<int64_t> dropped;
  for (int64_t row = 0; row < op.rows && std::isfinite(overflow); ++row) {
    double max = -kInfinity;
    for (int64_t k = 0; k < op.terms; ++k) max = std::max(max, x[static_cast<size_t>(op.Offset(row, k))]);
    for (int64_t k = 0; k < op.terms && max > -overflow / 2; ++k) {
      double& value = x[static_cast<size_t>(op.Offset(row, k))];
      if (!std::isfinite(value) || value > -overflow) continue;
      value = -kInfinity;
      dropped.push_back(op.Offset(row, k));
    }
  }
  return dropped;
}

// Of each element, m - x_j and its row's |m|; of a row without a maximum zeros. -inf has no distance worth an error.
struct Distances {
  Distances(const SoftmaxCase& op, const std::vector<double>& x, bool wide)
      : distance(std::ssize(x), wide), peak(std::ssize(x), wide) {
    ParallelFor(op.rows, std::max<int64_t>(1, 4096 / op.terms), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Row(op, x, row);
    });
  }
  void Row(const SoftmaxCase& op, const std::vector<double>& x, int64_t row) {
    double max = -kInfinity;
    for (int64_t k = 0; k < op.terms; ++k) {
      const double value = x[static_cast<size_t>(op.Offset(row, k))];
      if (std::isnan(value)) return;
      max = std::max(max, value);
    }
    if (!std::isfinite(max)) return;
    for (int64_t k = 0; k < op.terms; ++k) {
      const int64_t i = op.Offset(row, k);
      const double value = x[static_cast<size_t>(i)];
      peak.SetUp(i, std::abs(max));
      const double size = std::min(max - value, std::numeric_limits<double>::max());
      distance.SetUp(i, value == -kInfinity ? 0 : size);
    }
  }
  Plane distance, peak;
};

// Adds what base 2 costs beside the rounding of x - m that the formula has: a product with log2 e, a factor that is
// rounded too, in the element's own exponential and in the row's sum. The unit roundoff u covers two of these three
// already.
void AddBaseTwo(const SoftmaxCase& op, const Golden& golden, double u, const Distances& rows,
                std::vector<double>& reach) {
  const double more = 0.5 * u * (1 + 4 * u);
  ParallelFor(op.rows, std::max<int64_t>(1, 4096 / op.terms), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      double spread = 0;  // sum p (m - x)
      for (int64_t k = 0; k < op.terms; ++k) {
        const int64_t i = op.Offset(row, k);
        const double y = golden.value[static_cast<size_t>(i)], p = op.log ? std::exp(y) : y;
        if (p > 0) spread += p * rows.distance[i];
      }
      for (int64_t k = 0; k < op.terms; ++k) {
        const int64_t i = op.Offset(row, k);
        const double y = golden.value[static_cast<size_t>(i)];
        const double lost = op.log ? spread : y * (spread + rows.distance[i]);
        if (lost > 0) reach[static_cast<size_t>(i)] += more * lost;
      }
    }
  });
}

// What x - (m + ln l) may cost where the formula has (x - m) - ln l: the rounding of m + ln l.
void AddSumsWithMaximum(const Golden& golden, double u, const Distances& rows, std::vector<double>& reach) {
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double size = golden.magnitude[i], logarithm = std::max(0.0, size - rows.distance[i]) + size * 0x1p-20;
    reach[static_cast<size_t>(i)] += u * (1 + 4 * u) * rows.peak[i] + u * (1 + 4 * u) * logarithm;
  }
}

// A kernel that flushes its results flushes what they are made of too, which the formula counts where the value itself
// is below the smallest normal number N. Every probability is a product of factors of at most 1: exponentials (of x -
// m, of one maximum to the next) and 1 / l, or e / l. Whatever is flushed makes it zero, and it is no more than the
// partial product that is flushed, below N, or than the exponential of which a factor is: libraries make it of 2^(k -
// 1) and 2 f, f < 2, so that the largest 2^k does not overflow, and it is below 2 N where 2^(k - 1) is below N. What is
// lost is the probability itself, 2 N at most.
void AddFlushes(const Contract& contract, const OperationErrors& errors, std::vector<double>& reach) {
  if (contract.ftz != Flush::kOut && contract.ftz != Flush::kAll) return;
  for (double& r : reach) r += 2 * errors.lambda;
}

void FollowMaskedPolicy(BoundModel& bound, const Golden& golden, const Contract& contract, bool log) {
  const Plane* masked = golden.Extra("masked");
  if (masked == nullptr || contract.masked == MaskedRows::kNan) return;
  if (contract.masked == MaskedRows::kAny) {
    AdmitWhere(bound, *masked, 1, kAnything);
  } else {
    bound.value_where.push_back({masked, 1, log ? -kInfinity : 0, "masked=zero"});
  }
}

// Errors of one exponential, logarithm or division may lie anywhere within the contract's ulp, and those of the row's
// sum are the same for the whole row: systematic. Of the rescalings of an online sum, about log2 n meet a new maximum.
StatisticModel SoftmaxStatistic(const SoftmaxCase& op, const Contract& contract, const OperationErrors& errors) {
  StatisticModel statistic;
  statistic.applicable = errors.in == 0 && errors.mid == 0 && contract.acc != Accumulator::kTensorCore;
  statistic.shared = true;
  statistic.last_terms = true;
  if (op.inner == 1) statistic.sharing = op.terms;
  const double functions = errors.eps * (3 + std::log2(static_cast<double>(op.terms)));
  statistic.stagnates = static_cast<double>(op.terms) * errors.u > 0.125;
  statistic.of_value = op.log ? errors.eps : functions;
  statistic.constant = 4 * errors.lambda + (op.log ? functions : 0);
  return statistic;
}

// What an element may be off beside what its row shares. exp(x - m) and the division by the row's sum: two functions,
// and a third one where exponentials are kept and rescaled when the maximum is known. x - m and its product with log2 e
// round by u |x - m| each, log2 e itself is off by less than that; the products round. Logarithms subtract once more.
// Where numbers are subnormal, an ulp is the smallest one.
void AddSharedRow(const SoftmaxCase& op, const Golden& golden, const OperationErrors& errors, const Plane& distance,
                  BoundModel& bound) {
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

double SoftmaxReach(const Problem& problem, const Contract& contract, const std::vector<double>& row, int64_t k) {
  const Graph graph = SoftmaxGraph(SoftmaxCase(problem).log, 1, std::ssize(row), 1);
  return Reaches(problem, contract, graph, row).reach[0][static_cast<size_t>(k)];
}

BoundModel SoftmaxBound(const Problem& problem, const Golden& golden, const Contract& contract) {
  const SoftmaxCase op(problem);
  const bool wide = golden.magnitude.wide();
  std::vector<double> x = std::move(KeptInputs(golden, 1)[0]);
  const Graph graph = SoftmaxGraph(op.log, op.rows / op.inner, op.terms, op.inner);
  const std::vector<int64_t> dropped = DropOverflowing(op, OperandOverflow(contract, problem.inputs[0].dtype), x);
  formula::Evaluation evaluation = Reaches(problem, contract, graph, x);
  for (const int64_t i : dropped) {
    if (op.log) evaluation.reach[0][static_cast<size_t>(i)] = kInfinity;
  }
  if (contract.masked == MaskedRows::kAny && golden.Extra("masked") != nullptr) {
    const Plane& masked = *golden.Extra("masked");
    for (int64_t i = 0; i < golden.size(); ++i) {
      if (masked[i] >= 1) evaluation.reach[0][static_cast<size_t>(i)] = kInfinity;
    }
  }
  const OperationErrors errors(contract);
  const auto rows = std::make_shared<Distances>(op, x, wide);
  AddBaseTwo(op, golden, errors.u, *rows, evaluation.reach[0]);
  if (!op.log) AddFlushes(contract, errors, evaluation.reach[0]);
  if (op.log) AddSumsWithMaximum(golden, errors.u, *rows, evaluation.reach[0]);
  BoundModel bound = OutputBound(contract, problem.output().dtype);
  bound.owned.push_back(PlaneOfReach(evaluation.reach[0], evaluation, wide));
  bound.terms.push_back({bound.owned.back().get(), 1});
  bound.statistic = SoftmaxStatistic(op, contract, errors);
  if (bound.statistic.applicable) {
    AddLostSums(op, golden, contract, bound);
    AddSharedRow(op, golden, errors, rows->distance, bound);
    // x - (m + ln l) rounds m + ln l.
    const std::shared_ptr<const Plane> peak(rows, &rows->peak);
    if (op.log) bound.statistic.deviations.push_back({peak.get(), kRoundingDeviation * contract.AccUnitRoundoff()});
    if (op.log) bound.owned.push_back(peak);
  }
  FollowMaskedPolicy(bound, golden, contract, op.log);
  return bound;
}

}  // namespace assay
