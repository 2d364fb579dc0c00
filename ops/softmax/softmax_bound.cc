// SPDX-License-Identifier: Apache-2.0
// The hard bound of softmax is that of its formula, for every order of the sum, rescaled or not
// (ops/formula/README.md). What it leaves to this file: the contract's policy for rows of -inf, and what the statistic
// knows of a row's shared errors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "harness/base/multiversion.h"
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

// Of one row: m - x_j of its terms, where -inf has none worth an error and a row without a maximum zeros; their golden
// values, sizes of these, and probabilities; how far they may be off.
struct RowParts {
  explicit RowParts(int64_t terms)
      : distance(static_cast<size_t>(terms)), y(distance), size(distance), share(distance), reach(distance) {}
  std::vector<double> distance, y, size, share, reach;
};

// What the terms of a row have in common: see RowErrors::InCommon.
struct RowErrorsInCommon {
  bool log;
  double spread, peak, base_two, sum_with_maximum, flushed, exponent, own, lost;
};

// Adds to the reach, and replaces sizes by what an element may be off beside what its row shares.
ASSAY_MULTIVERSION void AddFurtherErrors(const RowErrorsInCommon& row, const double* __restrict y,
                                         const double* __restrict distance, double* __restrict size,
                                         double* __restrict reach, int64_t n) {
  if (row.log) {
    const double common = row.base_two * row.spread + row.sum_with_maximum * row.peak;
    for (int64_t i = 0; i < n; ++i) {
      const double logarithm = std::max(0.0, size[i] - distance[i]) + size[i] * 0x1p-20;
      reach[i] += common + row.sum_with_maximum * logarithm;
      size[i] = row.exponent * distance[i] + row.own * size[i] + row.lost;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const double lost = y[i] * (row.spread + distance[i]);
    reach[i] += (lost > 0 ? row.base_two * lost : 0) + row.flushed;
    size[i] = size[i] * (row.exponent * distance[i] + row.own) + row.lost;
  }
}

// The reach of the formula and of what kernels do otherwise than it says, and what the statistic needs to know of a
// row: block by block of the formula's evaluation, as whole arrays are larger than caches.
class RowErrors {
 public:
  RowErrors(const Problem& problem, const Golden& golden, const Contract& contract)
      : problem_(problem), op_(problem), golden_(golden), contract_(contract), errors_(contract) {}

  void Add(BoundModel& bound) {
    const bool wide = golden_.magnitude.wide(), has_statistic = bound.statistic.applicable;
    const auto plane = [&] { return std::make_shared<Plane>(Plane::Unset(golden_.size(), wide)); };
    reach_ = plane();
    if (has_statistic) allowance_ = plane();
    if (has_statistic && op_.log) peak_ = plane();
    if (has_statistic) lost_.resize(static_cast<size_t>(op_.rows));
    x_ = std::move(KeptInputs(golden_, 1)[0]);
    const std::vector<int64_t> dropped = DropOverflowing(op_, OperandOverflow(contract_, problem_.inputs[0].dtype), x_);
    const Graph graph = SoftmaxGraph(op_.log, op_.rows / op_.inner, op_.terms, op_.inner);
    const bool dd = SizeOf(problem_.output().dtype) == 8;  // doubles are more than narrower outputs show
    const formula::ErrorRules rules = RulesFor(problem_, contract_, dd);
    formula::EvaluateBlocks(graph, graph.outputs[0], {&x_, 1}, dd, {&rules, 1},
                            [&](const formula::EvaluatedBlock& block) { AddBlock(block); });
    for (const int64_t i : dropped) {
      if (op_.log) reach_->Set(i, kInfinity);
    }
    const Plane* masked = contract_.masked == MaskedRows::kAny ? golden_.Extra("masked") : nullptr;
    for (int64_t i = 0; i < golden_.size() && masked != nullptr; ++i) {
      if ((*masked)[i] >= 1) reach_->Set(i, kInfinity);
    }
    bound.owned.push_back(reach_);
    bound.terms.push_back({reach_.get(), 1});
    if (has_statistic) Tell(bound);
  }

 private:
  void AddBlock(const formula::EvaluatedBlock& block) {
    RowParts work(op_.terms);
    for (size_t lane = 0; lane < block.lanes.size(); ++lane) AddRow(block, lane, work);
  }

  // A row is a lane of the block.
  void AddRow(const formula::EvaluatedBlock& block, size_t lane, RowParts& work) {
    const int64_t first = block.lanes[lane];
    RowErrorsInCommon row = InCommon();
    row.peak = MeasureDistances(first, work);
    const std::span<const double> reach = block.reach[0];
    for (size_t k = 0, at = lane; k < work.y.size(); ++k, at += block.lanes.size()) {
      const int64_t i = first + static_cast<int64_t>(k) * op_.inner;
      const double y = work.y[k] = golden_.value[static_cast<size_t>(i)], p = op_.log ? std::exp(y) : y;
      work.size[k] = golden_.magnitude[i];
      work.share[k] = p;
      work.reach[k] = reach.empty() ? 0 : reach[at];
      if (p > 0) row.spread += p * work.distance[k];  // sum p (m - x)
    }
    AddFurtherErrors(row, work.y.data(), work.distance.data(), work.size.data(), work.reach.data(), op_.terms);
    for (size_t k = 0; k < work.y.size(); ++k) work.reach[k] = HeldReach(work.reach[k], work.y[k], reach_->wide());
    Store(first, work.reach, *reach_);
    if (lost_.empty()) return;
    Store(first, work.size, *allowance_);
    if (op_.log) Store(first, std::vector<double>(work.y.size(), row.peak), *peak_);
    lost_[static_cast<size_t>(op_.RowOf(first))] = LostShare(work.share, contract_.AccUnitRoundoff());
  }

  void Store(int64_t first, const std::vector<double>& row, Plane& to) const {
    if (op_.inner == 1) return to.SetRowUp(first, row);
    for (size_t k = 0; k < row.size(); ++k) to.SetUp(first + static_cast<int64_t>(k) * op_.inner, row[k]);
  }

  // Returns |m|, or zero where there is none.
  double MeasureDistances(int64_t first, RowParts& work) const {
    double max = -kInfinity;
    bool has_nan = false;
    const double* next = x_.data() + first;
    for (double& to : work.distance) {
      to = *next;
      has_nan = has_nan || std::isnan(to);
      max = std::max(max, to);
      next += op_.inner;
    }
    if (has_nan || !std::isfinite(max)) {
      std::ranges::fill(work.distance, 0);
      return 0;
    }
    for (double& x : work.distance) {
      x = x == -kInfinity ? 0 : std::min(max - x, std::numeric_limits<double>::max());
    }
    return std::abs(max);
  }

  // Base 2 costs, beside the rounding of x - m that the formula has, a product with log2 e, a factor that is rounded
  // too, in the element's own exponential and in the row's sum: the unit roundoff u covers two of these three already.
  // x - (m + ln l) costs, where the formula has (x - m) - ln l, the rounding of m + ln l.
  //
  // Beside what its row shares an element may be off by exp(x - m) and the division by the row's sum: two functions,
  // and a third one where exponentials are kept and rescaled when the maximum is known. x - m and its product with log2
  // e round by u |x - m| each, log2 e itself is off by less than that; the products round. Logarithms subtract once
  // more. Where numbers are subnormal, an ulp is the smallest one.
  RowErrorsInCommon InCommon() const {
    const double u = errors_.u, eps = errors_.eps, rounded = u * (1 + 4 * u);
    return {.log = op_.log,
            .spread = 0,
            .peak = 0,
            .base_two = 0.5 * rounded,
            .sum_with_maximum = rounded,
            .flushed = Flushes(),
            .exponent = 1.5 * u,
            .own = op_.log ? eps + u : 3 * eps + 2 * u,
            .lost = (4 + 2 * eps / u) * errors_.lambda};
  }

  // A kernel that flushes its results flushes what they are made of too, which the formula counts where the value
  // itself is below the smallest normal number N. Every probability is a product of factors of at most 1: exponentials
  // (of x - m, of one maximum to the next) and 1 / l, or e / l. Whatever is flushed makes it zero, and it is no more
  // than the partial product that is flushed, below N, or than the exponential of which a factor is: libraries make it
  // of 2^(k - 1) and 2 f, f < 2, so that the largest 2^k does not overflow, and it is below 2 N where 2^(k - 1) is
  // below N. What is lost is the probability itself, 2 N at most.
  double Flushes() const {
    return contract_.ftz == Flush::kOut || contract_.ftz == Flush::kAll ? 2 * errors_.lambda : 0;
  }

  void Tell(BoundModel& bound) {
    const double u = contract_.AccUnitRoundoff();
    if (const auto lost = LostPlane(u); lost != nullptr) {
      AddLostTerms(lost.get(), u, contract_, bound);
      bound.owned.push_back(lost);
    }
    bound.statistic.shared_row = {allowance_.get(), op_.terms, op_.inner, op_.log};
    bound.owned.push_back(allowance_);
    if (!op_.log) return;
    bound.statistic.deviations.push_back({peak_.get(), kRoundingDeviation * u});  // x - (m + ln l) rounds m + ln l
    bound.owned.push_back(peak_);
  }

  // What the sums of rows lose (lost_terms.h), relative to probabilities and absolutely in their logarithms.
  std::shared_ptr<Plane> LostPlane(double u) const {
    if (std::ranges::none_of(lost_, [&](double share) { return share >= u; })) return nullptr;
    auto lost = std::make_shared<Plane>(golden_.size(), golden_.magnitude.wide());
    for (int64_t row = 0; row < op_.rows; ++row) {
      const double share = lost_[static_cast<size_t>(row)];
      for (int64_t k = 0; k < op_.terms && share >= u; ++k) {
        const int64_t i = op_.Offset(row, k);
        lost->SetUp(i, op_.log ? share : share * golden_.value[static_cast<size_t>(i)]);
      }
    }
    return lost;
  }

  const Problem& problem_;
  const SoftmaxCase op_;
  const Golden& golden_;
  const Contract& contract_;
  const OperationErrors errors_;
  std::vector<double> x_;
  std::shared_ptr<Plane> reach_, allowance_, peak_;
  std::vector<double> lost_;  // by row
};

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

}  // namespace

double SoftmaxReach(const Problem& problem, const Contract& contract, const std::vector<double>& row, int64_t k) {
  const Graph graph = SoftmaxGraph(SoftmaxCase(problem).log, 1, std::ssize(row), 1);
  const bool dd = SizeOf(problem.output().dtype) == 8;
  const formula::ErrorRules rules = RulesFor(problem, contract, dd);
  return formula::Evaluate(graph, graph.outputs[0], {&row, 1}, dd, {&rules, 1}).reach[0][static_cast<size_t>(k)];
}

BoundModel SoftmaxBound(const Problem& problem, const Golden& golden, const Contract& contract) {
  const SoftmaxCase op(problem);
  BoundModel bound = OutputBound(contract, problem.output().dtype);
  bound.statistic = SoftmaxStatistic(op, contract, OperationErrors(contract));
  RowErrors(problem, golden, contract).Add(bound);
  FollowMaskedPolicy(bound, golden, contract, op.log);
  return bound;
}

}  // namespace assay
