// SPDX-License-Identifier: Apache-2.0
// Golden values of reduce from the row reductions of golden/sums/sum.h, with the planes that reduce_bound.cc needs.
// Groups of the statistic (harness/judge/README.md#statistic-by-groups): outputs of one reduction share no arithmetic
// with each other, m_eff = m for every kind but logsumexp, whose errors are dominated by log and the last addition of
// similar numbers: m_eff = 1.
#include <algorithm>
#include <cmath>

#include "golden/dd/dd.h"
#include "golden/sums/scaled_sum.h"
#include "golden/sums/sum.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/portable_math.h"
#include "ops/binding.h"
#include "ops/lost_terms.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

constexpr double kQuotientError = 0x1p-98;        // a correction step in double-double leaves about 2^-104, with margin
constexpr double kQuotientUnderflow = 0x1p-1072;  // two roundings below double's normal range; wide planes only

struct Rows {
  std::vector<double> x;  // [rows, terms]
  int64_t rows = 1, terms = 1;
  double lost_u = 0x1p-24;  // of lost_terms.h
  std::span<const double> Row(int64_t row) const { return {x.data() + row * terms, static_cast<size_t>(terms)}; }
};

// body(row) for all rows, on all threads.
template <class Body>
void ForEachRow(int64_t rows, int64_t terms, const Body& body) {
  ParallelFor(rows, std::max<int64_t>(1, 4096 / terms), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(row);
  });
}
template <class Body>
void ForRows(const Rows& rows, const Body& body) {
  ForEachRow(rows.rows, rows.terms, body);
}

// Replaces element i by a double-double, whose low part counts as error where the golden carries none.
void SetValue(Golden& golden, int64_t i, DD value, double error) {
  golden.value[i] = value.hi;
  if (golden.value_lo.empty()) {
    error += std::abs(value.lo);
  } else {
    golden.value_lo[i] = value.lo;
  }
  golden.error.SetUp(i, error);
}

DD ValueOf(const Golden& golden, int64_t i) {
  return {golden.value[i], golden.value_lo.empty() ? 0 : golden.value_lo[i]};
}

Golden Mean(const Rows& rows, Tier tier, double min_normal, bool wide) {
  Golden golden = GoldenRowSums(rows.x, rows.rows, rows.terms, tier, false, min_normal, wide);
  const auto count = static_cast<double>(rows.terms);
  Plane* subnormal = nullptr;
  for (auto& [name, plane] : golden.extra) {
    if (name == "subnormal_mass") subnormal = &plane;
  }
  for (int64_t i = 0; i < rows.rows; ++i) {
    golden.magnitude.SetUp(i, golden.magnitude[i] / count);
    golden.sigma.Set(i, golden.sigma[i] / count);
    if (subnormal != nullptr) subnormal->SetUp(i, (*subnormal)[i] / count);
    const DD sum = ValueOf(golden, i);
    const double quotient = sum.hi / count;
    if (!std::isfinite(quotient)) {
      golden.value[i] = quotient;
      continue;
    }
    const double rest = (std::fma(-quotient, count, sum.hi) + sum.lo) / count;
    const double error = golden.error[i] / count + kQuotientError * std::abs(quotient);
    SetValue(golden, i, QuickTwoSum(quotient, rest), error + (wide ? kQuotientUnderflow : 0));
  }
  return golden;
}

// Powers of two that bring each row's largest magnitude near one: squares of f64 values would leave double's range.
std::vector<double> ScaleRows(Rows& rows) {
  std::vector<double> scales(static_cast<size_t>(rows.rows), 1.0);
  ForRows(rows, [&](int64_t row) {
    double largest = 0;
    for (double x : rows.Row(row)) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
    if (largest == 0) return;
    const int exponent = std::clamp(std::ilogb(largest), -1022, 1022);
    double* x = rows.x.data() + row * rows.terms;
    for (int64_t k = 0; k < rows.terms; ++k) x[k] = std::ldexp(x[k], -exponent);
    scales[row] = std::ldexp(1.0, exponent);
  });
  return scales;
}

// Largest change of a norm by flushing a row's subnormal inputs: the norm of the subnormal part (triangle inequality).
Plane SubnormalNorm(const Rows& rows, double min_normal, bool wide) {
  Plane plane(rows.rows, wide);
  ForRows(rows, [&](int64_t row) {
    double largest = 0, count = 0;
    for (double x : rows.Row(row)) {
      if (x == 0 || !(std::abs(x) < min_normal)) continue;
      largest = std::max(largest, std::abs(x));
      ++count;
    }
    plane.SetUp(row, largest * std::sqrt(count));
  });
  return plane;
}

// The plane "lost_terms": what lost_terms.h says of the shares that parts(row, x, to) writes, times scale(row). Empty
// where no row loses as much as a rounding.
template <class Parts, class ScaleOf>
Plane LostTerms(const Rows& rows, bool wide, const Parts& parts, const ScaleOf& scale) {
  Plane lost(rows.rows, wide);
  ForRows(rows, [&](int64_t row) {
    std::vector<double> shares(static_cast<size_t>(rows.terms));
    parts(row, rows.Row(row), shares);
    const double share = LostShare(shares, rows.lost_u);
    if (share >= rows.lost_u) lost.SetUp(row, share * scale(row));
  });
  for (int64_t i = 0; i < rows.rows; ++i) {
    if (lost[i] > 0) return lost;
  }
  return {};
}

void AddLostTermsTo(Golden& golden, Plane lost) {
  if (!lost.empty()) golden.extra.emplace_back("lost_terms", std::move(lost));
}

// Half of what the sum of squares loses.
Plane LostSquares(const Rows& rows, const Golden& sums, const std::vector<double>& scales, bool wide) {
  return LostTerms(
      rows, wide,
      [&](int64_t row, std::span<const double> x, std::vector<double>& shares) {
        const double sum = sums.value[row];
        std::ranges::transform(x, shares.begin(), [&](double term) { return sum > 0 ? term * term / sum : 0; });
      },
      [&](int64_t row) { return std::isfinite(sums.value[row]) ? std::sqrt(sums.value[row]) / 2 * scales[row] : 0; });
}

Golden L2(Rows& rows, Tier tier, double min_normal, bool wide) {
  Plane subnormal = SubnormalNorm(rows, min_normal, wide);
  const std::vector<double> scales = ScaleRows(rows);
  // Sums of squares in wide planes: they are squares.
  Golden golden = GoldenRowSums(rows.x, rows.rows, rows.terms, tier, true, 0, true);
  Plane lost = LostSquares(rows, golden, scales, wide);
  Plane magnitude(rows.rows, wide), sigma(rows.rows, wide), error(rows.rows, wide), inverse(rows.rows, wide);
  // Below the square root of the accumulator's underflow the reciprocal is of no use; reduce_bound.cc.
  const double smallest = wide ? 0x1p-538 : 0x1p-76;
  for (int64_t i = 0; i < rows.rows; ++i) {
    const DD square = ValueOf(golden, i);
    const double root = std::sqrt(square.hi);
    DD y{root, 0};
    double absolute = 0, deviation = 0;
    if (std::isfinite(root) && root > 0) {
      y = QuickTwoSum(root, (std::fma(-root, root, square.hi) + square.lo) / (2 * root));
      absolute = golden.error[i] / root + kQuotientError * root;
      deviation = golden.sigma[i] / (2 * root);
    } else if (root == 0) {
      absolute = std::sqrt(golden.error[i]);
    }
    y = Scale(y, scales[i]);
    if (golden.value_lo.empty()) absolute += std::abs(y.lo) / scales[i];
    golden.value[i] = y.hi;
    if (!golden.value_lo.empty()) golden.value_lo[i] = std::isfinite(y.hi) ? y.lo : 0;
    const double size = std::isfinite(y.hi) ? std::abs(y.hi) : 0;
    error.SetUp(i, absolute * scales[i] + (wide && y.hi != 0 ? kQuotientUnderflow : 0));
    magnitude.SetUp(i, size);
    sigma.Set(i, deviation * scales[i]);
    inverse.SetUp(i, size > 0 ? 1 / std::max(size, smallest) : 0);
  }
  golden.magnitude = std::move(magnitude);
  golden.sigma = std::move(sigma);
  golden.error = std::move(error);
  golden.extra.clear();
  golden.extra.emplace_back("inverse", std::move(inverse));
  AddLostTermsTo(golden, std::move(lost));
  golden.extra.emplace_back("subnormal_mass", std::move(subnormal));
  return golden;
}

Golden Product(const Rows& rows, double min_normal, bool wide) {
  Golden golden = GoldenRowProducts(rows.x, rows.rows, rows.terms, wide);
  for (auto& [name, plane] : golden.extra) {
    if (name != "log2_down") continue;
    for (int64_t i = 0; i < rows.rows; ++i) plane.Set(i, std::abs(plane[i]));  // planes are non-negative
  }
  // A flushed factor makes the product zero, or NaN beside an infinity.
  Plane subnormal(rows.rows, wide), lost_infinity(rows.rows, false);
  ForRows(rows, [&](int64_t row) {
    const bool any = std::ranges::any_of(rows.Row(row), [&](double x) { return x != 0 && std::abs(x) < min_normal; });
    if (!any) return;
    subnormal.SetUp(row, golden.magnitude[row]);
    if (std::isinf(golden.value[row])) lost_infinity.Set(row, 1);
  });
  golden.extra.emplace_back("lost_infinity", std::move(lost_infinity));
  golden.extra.emplace_back("subnormal_mass", std::move(subnormal));
  return golden;
}

// exp(x - LSE), for all of a row.
ASSAY_MULTIVERSION void Exponentials(const double* x, double lse, double* shares, int64_t n) {
  for (int64_t i = 0; i < n; ++i) shares[i] = x[i] - lse;
  internal::ExpKernels(shares, shares, n);
}

// The magnitude plane becomes |LSE|, which the final addition and the output round.
Golden LogSumExp(const Rows& rows, Tier tier, bool wide) {
  Golden golden = GoldenRowLogSumExp(rows.x, rows.rows, rows.terms, tier, wide);
  for (int64_t i = 0; i < rows.rows; ++i) {
    golden.magnitude.SetUp(i, std::isfinite(golden.value[i]) ? std::abs(golden.value[i]) : 0);
  }
  AddLostTermsTo(golden, LostTerms(
                             rows, wide,
                             [&](int64_t row, std::span<const double> x, std::vector<double>& shares) {
                               if (!std::isfinite(golden.value[row])) return;
                               Exponentials(x.data(), golden.value[row], shares.data(), std::ssize(x));
                             },
                             [](int64_t) { return 1.0; }));
  return golden;
}

// max, min, argmax, argmin: exact.
Golden Selection(const ReduceArgs& op, const Tensor& x, double min_normal, bool wide) {
  Golden golden;
  golden.exact = true;
  golden.value.resize(static_cast<size_t>(op.rows));
  golden.magnitude = golden.sigma = golden.error = Plane(op.rows, wide);
  ReduceArgs other = op;
  other.ignore_nan = !op.ignore_nan;
  Plane other_policy(op.rows, wide);
  Plane nan_inputs(op.rows, false), subnormal(op.rows, wide), subnormal_winner(op.rows, false);
  ForEachRow(op.rows, op.terms, [&](int64_t row) {
    const RowTerm selected = SelectFromRow(op, x, row);
    const double best = selected.number;
    const RowTerm winner = op.ignore_nan || std::isnan(best) ? SelectFromRow(other, x, row) : selected;
    golden.value[row] = IsArg(op.kind) ? static_cast<double>(selected.index) : best;
    const double size = std::isfinite(best) ? std::abs(best) : 0;
    golden.magnitude.SetUp(row, size);
    // One of the two policies selects a NaN wherever there is one.
    if (std::isnan(best) || std::isnan(winner.number)) {
      nan_inputs.Set(row, 1);
      other_policy.Set(row, IsArg(op.kind) ? static_cast<double>(winner.index) : winner.number);
    }
    // Where subnormals are flushed, a winner below the smallest normal ties with zero and every other subnormal.
    if (std::abs(best) < min_normal) subnormal_winner.Set(row, 1);
    if (std::abs(best) < min_normal) subnormal.SetUp(row, size);
  });
  golden.extra.emplace_back("nan_inputs", std::move(nan_inputs));
  golden.extra.emplace_back("other_policy", std::move(other_policy));
  golden.extra.emplace_back("subnormal_winner", std::move(subnormal_winner));
  golden.extra.emplace_back("subnormal_mass", std::move(subnormal));
  return golden;
}

Golden Compute(const ReduceArgs& op, Rows& rows, Tier tier, double min_normal, bool wide) {
  switch (op.kind) {
    case ReduceKind::kSum:
      return GoldenRowSums(rows.x, rows.rows, rows.terms, tier, false, min_normal, wide);
    case ReduceKind::kMean:
      return Mean(rows, tier, min_normal, wide);
    case ReduceKind::kL2:
      return L2(rows, tier, min_normal, wide);
    case ReduceKind::kProd:
      return Product(rows, min_normal, wide);
    default:
      return LogSumExp(rows, tier, wide);
  }
}

// Sums and means again whose magnitude leaves double's range.
void SumBeyondDouble(const ReduceArgs& op, const Rows& rows, Golden& golden) {
  const double divisor = op.kind == ReduceKind::kMean ? static_cast<double>(op.terms) : 1;
  for (int64_t row = 0; row < rows.rows; ++row) {
    double largest = 0;
    for (const double x : rows.Row(row)) largest = std::max(largest, std::abs(x));  // passes over NaN
    if (!(largest * static_cast<double>(op.terms) >= kBeyondDouble)) continue;
    ScaledSum sum;
    for (const double x : rows.Row(row)) sum.Add(x);
    sum.Store(golden, row, divisor);
  }
}

// The plane "largest_operand" of bound.h; empty where no operand reaches so far.
Plane LargestOperands(const Rows& rows, bool wide) {
  const auto reaches = [](double x) { return std::isfinite(x) && std::abs(x) >= kNarrowestOverflow; };
  if (std::ranges::none_of(rows.x, reaches)) return {};
  Plane plane(rows.rows, wide);
  ForRows(rows, [&](int64_t row) {
    double largest = 0;
    for (double x : rows.Row(row)) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
    plane.SetUp(row, largest);
  });
  return plane;
}

// S of integer sums without the slack of floating-point ones: what lies below an accumulator's 2^p must not be rounded
// beyond it.
void SetIntegerMagnitudes(const Rows& rows, Golden& golden) {
  golden.sigma = golden.error = Plane();
  ForRows(rows, [&](int64_t row) {
    double sum = 0;
    for (double x : rows.Row(row)) sum += std::abs(x);
    golden.magnitude.SetUp(row, sum);
  });
}

Golden ComputeReduction(const Problem& problem, const Tensor& x, Tier tier) {
  if (ReducesIntegers(problem)) return FoldIntegers(problem, x);
  const ReduceArgs op(problem);
  const bool integers = IsInt(x.dtype());
  const bool sums = op.kind == ReduceKind::kSum || op.kind == ReduceKind::kMean;
  const bool wide =
      NeedsWidePlanes(problem.outputs[0].dtype, sums ? LargestFinite(x) * static_cast<double>(op.terms) : 0);
  const double min_normal = integers ? 0 : FormatOf(x.dtype()).MinNormal();
  if (IsSelection(op.kind)) return Selection(op, x, min_normal, wide);
  Rows rows{op.Rows(x), op.rows, op.terms, LostTermsRoundoff(x.dtype() == DType::kF64)};
  Plane operands = LargestOperands(rows, wide);  // before rows are scaled
  Golden golden = Compute(op, rows, tier, min_normal, wide);
  if (sums && x.dtype() == DType::kF64) SumBeyondDouble(op, rows, golden);
  golden.exact |= integers;  // sums of i8 stay far below 2^53
  if (integers && op.kind == ReduceKind::kSum) SetIntegerMagnitudes(rows, golden);
  if (!operands.empty()) golden.extra.emplace_back("largest_operand", std::move(operands));
  return golden;
}

}  // namespace

Golden ReduceGolden(const Problem& problem, const Tensor& x, Tier tier) {
  Golden golden = ComputeReduction(problem, x, tier);
  golden.shape = problem.outputs[0].shape;
  golden.tier = tier;
  return golden;
}

}  // namespace assay
