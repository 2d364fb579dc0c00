// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "harness/judge/statistic/row_lean.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

constexpr int64_t kMostTerms = int64_t{1} << 21;  // of the rows that are measured
constexpr int64_t kFewestRows = 8, kMostRows = 64;
constexpr int kGrids = 24;           // spacings, each half of the one before
constexpr double kDeviations = 3.0;  // by which the mean of the measured rows may be too small

// Losses of one sum on each grid, relative to the size of its terms.
struct SumLoss {
  bool is_unknown = false;
  std::array<double, kGrids> lost{};      // with sign
  std::array<double, kGrids> variance{};  // of roundings that are uniform within a spacing

  void Add(const SumLoss& other) {
    for (size_t grid = 0; grid < kGrids; ++grid) {
      lost[grid] += other.lost[grid], variance[grid] += other.variance[grid];
    }
  }
  double Largest(double rows) const {
    double largest = 0;
    for (size_t grid = 0; grid < kGrids; ++grid) {
      largest = std::max(largest, std::fabs(lost[grid]) + kDeviations * std::sqrt(variance[grid]));
    }
    return largest / rows;
  }
};

double RoundToGrid(double x, double spacing) {
  const double shift = 0x1.8p52 * spacing;  // the sum's last place is the grid
  return (x + shift) - shift;
}

SumLoss LossOf(const std::vector<double>& terms, int precision) {
  SumLoss loss;
  loss.is_unknown = terms.empty();
  double size = 0;
  for (const double x : terms) size += std::isfinite(x) ? std::fabs(x) : 0;
  if (terms.size() < 2 || size == 0) return loss;
  double spacing = std::ldexp(1, std::ilogb(size) - (precision - 1));
  for (size_t grid = 0; grid < kGrids; ++grid, spacing /= 2) {
    double lost = 0;
    for (const double x : terms) lost += std::isfinite(x) ? RoundToGrid(x, spacing) - x : 0;
    loss.lost[grid] = lost / size;
    loss.variance[grid] = static_cast<double>(terms.size()) / 12 * (spacing / size) * (spacing / size);
  }
  return loss;
}

// The row that begins at this element of the output, as a case of its own.
std::optional<Subproblem> TakeRow(const Operator& op, const Problem& problem, size_t output,
                                  std::span<const Tensor> inputs, int64_t element) {
  const int64_t elements[] = {element};
  return TakePart(op, problem, output, inputs, elements, 0);
}

std::vector<std::vector<double>> SumsOfRow(const Operator& op, const Problem& problem, size_t output,
                                           std::span<const Tensor> inputs, const Contract& contract, int64_t element) {
  const auto part = TakeRow(op, problem, output, inputs, element);
  return part ? op.SummedTerms(part->problem, output, part->inputs, contract, 0)
              : op.SummedTerms(problem, output, inputs, contract, element);
}

// Infinity: not known, since the sums of some row are not.
double LargestLoss(const std::vector<std::vector<SumLoss>>& rows) {
  std::vector<SumLoss> total(rows[0].size());
  for (const auto& row : rows) {
    const auto is_unknown = [](const SumLoss& loss) { return loss.is_unknown; };
    if (row.empty() || row.size() != total.size() || std::ranges::any_of(row, is_unknown)) return kInfinity;
    for (size_t sum = 0; sum < row.size(); ++sum) total[sum].Add(row[sum]);
  }
  double largest = 0;
  for (const SumLoss& loss : total) largest = std::max(largest, loss.Largest(static_cast<double>(rows.size())));
  return largest;
}

}  // namespace

double MeasureSumLean(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                      const Contract& contract, int64_t rows) {
  if (!op.TraitsOf(problem, output).sums) return 0;
  const int64_t size = NumElements(problem.outputs[output].shape), length = size / rows;
  // Where rows are no cases of their own all of the operands are evaluated for each of them, one after the other.
  const bool takes_all = !TakeRow(op, problem, output, inputs, 0);
  const int64_t measured = std::min(rows, std::clamp(kMostTerms / (takes_all ? size : length), kFewestRows, kMostRows));
  const int precision = std::min(53, contract.AccExactBits());
  std::vector<std::vector<SumLoss>> losses(static_cast<size_t>(measured));
  ParallelFor(measured, takes_all ? measured : 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const auto sums = SumsOfRow(op, problem, output, inputs, contract, k * rows / measured * length);
      for (const auto& terms : sums) losses[static_cast<size_t>(k)].push_back(LossOf(terms, precision));
    }
  });
  return LargestLoss(losses);
}

}  // namespace assay
