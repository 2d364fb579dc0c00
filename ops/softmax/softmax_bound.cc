// SPDX-License-Identifier: Apache-2.0
// The hard bound of softmax is that of its formula, for every order of the sum, rescaled or not
// (ops/formula/README.md). What it leaves to this file: the contract's policy for rows of -inf, and what the statistic
// knows of a row's shared errors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/core/base/check.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/exp_error.h"
#include "ops/formula/expr.h"
#include "ops/formula_operator/reach.h"
#include "ops/lost_terms.h"
#include "ops/softmax/softmax.h"
#include "ops/softmax/softmax_reach.h"
#include "ops/softmax/softmax_rows.h"

namespace assay {
namespace {

using formula::Axis;
using formula::Expr;
using formula::Graph;

Graph SoftmaxGraph(bool log, int64_t rows, int64_t terms) {
  Graph graph;
  const Axis r = AddAxis(graph, "rows", rows), n = AddAxis(graph, "terms", terms);
  const formula::Axes all = r + n;
  const Expr below = BelowMax(AddInput(graph, "x", all), n), e = Exp(-below), total = RescaledSum(e, n);
  AddOutput(graph, "y", log ? -(below + Max0(Log(total))) : e / total, all);
  return graph;
}

// Numbers that the contract's input class makes -inf, far below their row's maximum, weigh nothing before and after:
// they become -inf. Returns where they are.
std::vector<size_t> DropOverflowing(double overflow, std::span<double> row) {
  std::vector<size_t> dropped;
  if (!std::isfinite(overflow)) return dropped;
  double max = -kInfinity;
  for (const double x : row) max = std::max(max, x);
  for (size_t k = 0; k < row.size() && max > -overflow / 2; ++k) {
    if (!std::isfinite(row[k]) || row[k] > -overflow) continue;
    row[k] = -kInfinity;
    dropped.push_back(k);
  }
  return dropped;
}

// A stretch of a row, by term: distance is m - x_j (0 for -inf, which has no error, and in rows without a maximum), y
// the golden value, size its magnitude, reach how far the value may be off.
struct RowParts {
  explicit RowParts(int64_t terms) { Resize(terms); }
  void Resize(int64_t terms) {
    for (auto* array : {&distance, &y, &size, &reach}) array->resize(static_cast<size_t>(terms));
  }
  std::vector<double> distance, y, size, reach;
};

// Errors that the terms of a row have in common (RowErrors::InCommon).
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
    const double flushed = reach[i] > 0 ? row.flushed : 0;  // what is exact, as the weight 0 of -inf, stays so
    reach[i] += (lost > 0 ? row.base_two * lost : 0) + flushed;
    size[i] = size[i] * (row.exponent * distance[i] + row.own) + row.lost;
  }
}

// The reach of the formula and of what kernels do otherwise than it says, and what the statistic needs to know of a
// row: row by row, as whole arrays are larger than caches.
class RowErrors {
 public:
  RowErrors(const Problem& problem, const Golden& golden, const Contract& contract)
      : problem_(problem),
        op_(problem),
        golden_(golden),
        contract_(contract),
        errors_(contract),
        x_(*golden.Extra("input.0")) {}

  void Add(BoundModel& bound) {
    const bool wide = golden_.magnitude.wide(), has_statistic = bound.statistic.applicable;
    const auto plane = [&] { return std::make_shared<Plane>(Plane::Unset(golden_.size(), wide)); };
    reach_ = plane();
    if (has_statistic) allowance_ = plane();
    if (has_statistic && op_.log) peak_ = plane();
    if (has_statistic) lost_.resize(static_cast<size_t>(op_.rows));
    const bool dd = SizeOf(problem_.outputs[0].dtype) == 8;  // doubles are more than narrower outputs show
    const formula::ErrorRules rules = RulesFor(problem_, 0, contract_, dd);
    std::vector<int64_t> rows = AddWrittenOut(rules, !op_.log && !dd);
    if (!rows.empty()) AddByFormula(rules, dd, rows);
    const Plane* masked = contract_.masked == MaskedRows::kAny ? golden_.Extra("masked") : nullptr;
    for (int64_t i = 0; i < golden_.size() && masked != nullptr; ++i) {
      if ((*masked)[i] >= 1) reach_->Set(i, kInfinity);
    }
    bound.owned.push_back(reach_);
    bound.terms.push_back({reach_.get(), 1});
    if (has_statistic) Tell(bound);
  }

 private:
  // Returns the rows that need the formula.
  std::vector<int64_t> AddWrittenOut(const formula::ErrorRules& rules, bool applies) {
    std::vector<char> done(static_cast<size_t>(op_.rows));
    const auto reach = applies ? SoftmaxRowReach::For(rules, op_.terms) : std::nullopt;
    ParallelFor(reach ? op_.rows : 0, std::max<int64_t>(1, 4096 / op_.terms), [&](int64_t begin, int64_t end) {
      SoftmaxRowReach of_row = *reach;
      RowParts work(std::min(op_.terms, kSoftmaxStretch));
      for (int64_t row = begin; row < end; ++row) done[static_cast<size_t>(row)] = TryWrittenOut(row, of_row, work);
    });
    std::vector<int64_t> left;
    for (int64_t row = 0; row < op_.rows; ++row) {
      if (done[static_cast<size_t>(row)] == 0) left.push_back(row);
    }
    return left;
  }

  // body(its first element, its terms)
  template <class Body>
  void ForEachStretch(int64_t row, const Body& body) const {
    for (int64_t at = 0; at < op_.terms; at += kSoftmaxStretch) {
      body(op_.Offset(row, at), std::min(kSoftmaxStretch, op_.terms - at));
    }
  }

  // Whether the row could do without the formula.
  bool TryWrittenOut(int64_t row, SoftmaxRowReach& reach, RowParts& work) {
    const auto for_each_stretch = [&](const auto& body) {
      ForEachStretch(row, [&](int64_t first, int64_t terms) {
        work.Resize(terms);
        body(first);
      });
    };
    double max = -kInfinity;
    for_each_stretch([&](int64_t first) {
      ReadSoftmaxRow(op_, x_, first, work.distance);
      const double largest = LargestTerm(work.distance);
      max = max > largest ? max : largest;
      if (std::isnan(largest)) max = kInfinity;  // no term is larger: the row stays without a maximum
    });
    if (!std::isfinite(max)) return false;
    const auto read = [&](int64_t first) {
      ReadSoftmaxRow(op_, x_, first, work.distance);
      for (double& x : work.distance) x = max - x;
      ReadGolden(first, work);
    };
    RowErrorsInCommon common = InCommon();
    common.peak = std::fabs(max);
    reach.Begin();
    double lost = 0;
    for_each_stretch([&](int64_t first) {
      read(first);
      reach.Add(work.distance, work.y);
      common.spread += SumOfProducts(work.y, work.distance);
      lost += LostShare(work.y, contract_.AccUnitRoundoff());
    });
    std::vector<double> gathered;
    if (!reach.Finish(ValuesOfRow(row, gathered))) return false;
    for_each_stretch([&](int64_t first) {
      if (op_.terms > kSoftmaxStretch) read(first);
      reach.Read(work.distance, work.y, work.reach);
      AddStretch(common, first, work);
    });
    if (!lost_.empty()) lost_[static_cast<size_t>(row)] = lost;
    return true;
  }

  // `gathered` holds them where they are not contiguous.
  std::span<const double> ValuesOfRow(int64_t row, std::vector<double>& gathered) const {
    const std::span<const double> values = golden_.value;
    const int64_t first = op_.Offset(row, 0);
    if (op_.inner == 1) return values.subspan(static_cast<size_t>(first), static_cast<size_t>(op_.terms));
    for (int64_t k = 0; k < op_.terms; ++k) gathered.push_back(values[static_cast<size_t>(first + k * op_.inner)]);
    return gathered;
  }

  void AddByFormula(const formula::ErrorRules& rules, bool dd, const std::vector<int64_t>& rows) {
    const double overflow = OperandOverflow(contract_, problem_.inputs[0].dtype);
    const auto terms = static_cast<size_t>(op_.terms);
    std::vector<double> x(rows.size() * terms);
    std::vector<std::vector<size_t>> dropped(rows.size());
    for (size_t k = 0; k < rows.size(); ++k) {
      const std::span<double> row = std::span(x).subspan(k * terms, terms);
      ReadSoftmaxRow(op_, x_, op_.Offset(rows[k], 0), row);
      dropped[k] = DropOverflowing(overflow, row);
    }
    const Graph graph = SoftmaxGraph(op_.log, std::ssize(rows), op_.terms);
    formula::EvaluateBlocks(graph, graph.outputs[0], {&x, 1}, dd, {&rules, 1},
                            [&](const formula::EvaluatedBlock& block) {
                              ASSAY_CHECK(std::ssize(block.inner) == op_.terms);  // a lane is a whole row
                              RowParts work(op_.terms);
                              for (size_t lane = 0; lane < block.lanes.size(); ++lane) {
                                const auto first = static_cast<size_t>(block.lanes[lane]);
                                std::ranges::copy(std::span(x).subspan(first, terms), work.distance.begin());
                                const std::optional<double> max = MeasureDistances(work.distance);
                                const std::span<const double> reach = block.reach[0];
                                for (size_t k = 0; k < terms; ++k)
                                  work.reach[k] = reach.empty() ? 0 : reach[k * block.lanes.size() + lane];
                                if (op_.log) {
                                  for (const size_t k : dropped[first / terms]) work.reach[k] = kInfinity;
                                }
                                AddRow(rows[first / terms], max ? std::fabs(*max) : 0, work);
                              }
                            });
  }

  // Replaces x by max x - x; nullopt: there is no finite maximum, and all are 0. -inf has no distance worth an error.
  static std::optional<double> MeasureDistances(std::vector<double>& row) {
    double max = -kInfinity;
    bool has_nan = false;
    for (const double x : row) {
      has_nan = has_nan || std::isnan(x);
      max = std::max(max, x);
    }
    if (has_nan || !std::isfinite(max)) {
      std::ranges::fill(row, 0);
      return std::nullopt;
    }
    for (double& x : row) x = x == -kInfinity ? 0 : std::min(max - x, std::numeric_limits<double>::max());
    return max;
  }

  void ReadGolden(int64_t first, RowParts& work) const {
    for (size_t k = 0; k < work.y.size(); ++k) {
      work.y[k] = golden_.value[static_cast<size_t>(first + static_cast<int64_t>(k) * op_.inner)];
    }
    ReadSoftmaxRow(op_, golden_.magnitude, first, work.size);
  }

  // `work` has the distances and reach of the whole row; peak: |max x|.
  void AddRow(int64_t number, double peak, RowParts& work) {
    const int64_t first = op_.Offset(number, 0);
    ReadGolden(first, work);
    std::vector<double> share = work.y;  // the probability
    for (double& y : share) y = op_.log ? std::exp(y) : y;
    for (double& p : share) p = p > 0 ? p : 0;
    RowErrorsInCommon row = InCommon();
    row.peak = peak;
    row.spread = SumOfProducts(share, work.distance);  // sum p (m - x)
    AddStretch(row, first, work);
    if (!lost_.empty()) lost_[static_cast<size_t>(number)] = LostShare(share, contract_.AccUnitRoundoff());
  }

  void AddStretch(const RowErrorsInCommon& row, int64_t first, RowParts& work) {
    AddFurtherErrors(row, work.y.data(), work.distance.data(), work.size.data(), work.reach.data(), std::ssize(work.y));
    HoldReach(work.reach, work.y.data(), reach_->wide());
    Store(first, work.reach, *reach_);
    if (lost_.empty()) return;
    Store(first, work.size, *allowance_);
    if (op_.log) Store(first, std::vector<double>(work.y.size(), row.peak), *peak_);
  }

  void Store(int64_t first, std::span<const double> row, Plane& to) const {
    if (op_.inner == 1) return to.SetRowUp(first, row);
    for (size_t k = 0; k < row.size(); ++k) to.SetUp(first + static_cast<int64_t>(k) * op_.inner, row[k]);
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

  // Terms that the sums of rows lose (lost_terms.h): relative to probabilities, absolute in their logarithms.
  std::shared_ptr<Plane> LostPlane(double u) const {
    if (std::ranges::none_of(lost_, [&](double share) { return share >= u; })) return nullptr;
    auto lost = std::make_shared<Plane>(Plane::Unset(golden_.size(), golden_.magnitude.wide()));
    ParallelFor(op_.rows, std::max<int64_t>(1, 4096 / op_.terms), [&](int64_t begin, int64_t end) {
      std::vector<double> part;
      for (int64_t row = begin; row < end; ++row) {
        const double share = lost_[static_cast<size_t>(row)] >= u ? lost_[static_cast<size_t>(row)] : 0;
        ForEachStretch(row, [&](int64_t first, int64_t terms) {
          part.resize(static_cast<size_t>(terms));
          for (size_t k = 0; k < part.size(); ++k) {
            const double y = golden_.value[static_cast<size_t>(first + static_cast<int64_t>(k) * op_.inner)];
            part[k] = op_.log || share == 0 ? share : share * y;
          }
          Store(first, part, *lost);
        });
      }
    });
    return lost;
  }

  const Problem& problem_;
  const SoftmaxArgs op_;
  const Golden& golden_;
  const Contract& contract_;
  const OperationErrors errors_;
  const Plane& x_;
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
StatisticModel SoftmaxStatistic(const SoftmaxArgs& op, const Contract& contract, const OperationErrors& errors) {
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
  const Graph graph = SoftmaxGraph(SoftmaxArgs(problem).log, 1, std::ssize(row));
  const bool dd = SizeOf(problem.outputs[0].dtype) == 8;
  const formula::ErrorRules rules = RulesFor(problem, 0, contract, dd);
  return formula::Evaluate(graph, graph.outputs[0], {&row, 1}, dd, {&rules, 1}).reach[0][static_cast<size_t>(k)];
}

BoundModel SoftmaxBound(const Problem& problem, const Golden& golden, const Contract& contract) {
  const SoftmaxArgs op(problem);
  BoundModel bound = OutputBound(contract, problem.outputs[0].dtype);
  bound.statistic = SoftmaxStatistic(op, contract, OperationErrors(contract));
  RowErrors(problem, golden, contract).Add(bound);
  FollowMaskedPolicy(bound, golden, contract, op.log);
  return bound;
}

}  // namespace assay
