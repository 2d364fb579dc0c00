// SPDX-License-Identifier: Apache-2.0
// Relations of matmul: rows of a alone or elsewhere, columns of b elsewhere, -a and 2^k a, a b that selects columns of
// a, and the terms of the sums in another order.
#include <algorithm>
#include <cmath>

#include "ops/matmul/matmul.h"
#include "ops/relations.h"

namespace assay {
namespace {

// The axes of a, b, c and bias for what runs along axis `output` of y.
SliceAxes Axes(const MatmulArgs& op, int64_t a, int64_t b, int64_t output, int64_t extent) {
  SliceAxes axes{.inputs = {a, b}, .output = output, .extent = extent};
  if (op.beta != 0) axes.inputs.push_back(output);
  const bool columns = b >= 0 && a < 0;
  if (op.bias) axes.inputs.push_back(columns ? 0 : -1);
  return axes;
}

struct MatmulAxes {
  SliceAxes rows, columns, outer, terms;
};

MatmulAxes MatmulAxesOf(const MatmulArgs& c) {
  const auto [m, n, k, batch, transa, transb] = c.gemm;
  const int64_t first = batch > 1 ? 1 : 0;  // of the axes m, n and k
  const int64_t m_of_a = first + (transa ? 1 : 0), n_of_b = first + (transb ? 0 : 1);
  return {.rows = Axes(c, m_of_a, -1, first, m),
          .columns = Axes(c, -1, n_of_b, first + 1, n),
          .outer = Axes(c, 0, 0, 0, batch),
          .terms = Axes(c, 2 * first + 1 - m_of_a, 2 * first + 1 - n_of_b, -1, k)};
}

// Column j of b is one at k = 7 j + 3 (mod K) and zero elsewhere, so that y[i,j] is a[i,k].
std::optional<OtherExecution> SelectingColumns(const ExecutedSet& executed) {
  const MatmulArgs op(executed.problem);
  if (op.alpha != 1 || op.rounded || !AllFinite(executed.inputs[0])) return std::nullopt;
  OtherExecution other{.inputs = Clones(executed.inputs)};
  for (size_t i = 1; i < other.inputs.size(); ++i) {
    std::vector<double> zeros(static_cast<size_t>(other.inputs[i].size()));
    other.inputs[i].SetDoubles(zeros);
  }
  const auto selected = [&](int64_t column) { return (7 * column + 3) % op.gemm.k; };
  std::vector<double> b(static_cast<size_t>(other.inputs[1].size()));
  for (int64_t batch = 0; batch < op.gemm.batch; ++batch) {
    for (int64_t j = 0; j < op.gemm.n; ++j) b[op.OffsetInB(batch, selected(j), j)] = 1;
  }
  other.inputs[1].SetDoubles(b);
  const std::vector<double> a = executed.inputs[0].ToDoubles();
  Tensor y(executed.problem.outputs[0].dtype, executed.problem.outputs[0].shape);
  std::vector<double> values(static_cast<size_t>(y.size()));
  for (int64_t i = 0; i < y.size(); ++i) {
    values[i] = a[op.OffsetInA(op.BatchOf(i), op.RowsOfA(i) % op.gemm.m, selected(op.ColumnOf(i)))];
  }
  y.SetDoubles(values);  // rounds, where the output is narrower
  other.expected = y.ToDoubles();
  return other;
}

}  // namespace

std::vector<SliceAxes> MatmulSlices(const Problem& problem) {
  const auto [rows, columns, outer, terms] = MatmulAxesOf(MatmulArgs(problem));
  return Several({rows, columns, outer, terms});
}

std::vector<int> MatmulScaledInputs(const Problem& problem) {
  std::vector<int> scaled = {0};
  for (size_t i = 2; i < problem.inputs.size(); ++i) scaled.push_back(static_cast<int>(i));
  return scaled;
}

std::vector<Relation> MatmulRelations(const Operator& op, const Problem& problem) {
  const MatmulArgs c(problem);
  const auto [rows, columns, outer, terms] = MatmulAxesOf(c);
  const std::vector<int> scaled = op.ScaledInputs(problem);
  const double alpha = std::abs(c.alpha), beta = c.beta == 0 ? 1 : std::abs(c.beta);

  std::vector<Relation> all;
  if (rows.extent > 1) all.push_back(Reversed("position", Claim::kBatchInvariant, rows));
  all.push_back(Negated(scaled));
  all.push_back({.name = "one_hot", .claim = Claim::kCopies, .make = SelectingColumns});
  // If the product is rounded before it is scaled and added to, the factor may overflow it although the result does
  // not.
  if (!c.rounded) {
    all.push_back(Scaled(Claim::kScalable, {.scaled = scaled,
                                            .factors = {0, 1},
                                            .terms = static_cast<double>(terms.extent) + 2,
                                            .gain_low = std::min({1.0, alpha, beta}),
                                            .gain_high = std::max({1.0, alpha, beta})}));
  }
  Append(all, Prefixes(op, problem, "batch", rows, [](int64_t count) {
           return AttrList{{"m", std::to_string(count)}};
         }));
  if (terms.extent > 1) all.push_back(TermOrder({terms}));
  if (columns.extent > 1) all.push_back(Reversed("columns", Claim::kNone, columns));
  if (outer.extent > 1) all.push_back(Reversed("outer_position", Claim::kBatchInvariant, outer));
  Append(all, Prefixes(op, problem, "outer_batch", outer, [](int64_t count) {
           return AttrList{{"batch", std::to_string(count)}};
         }));
  return all;
}

}  // namespace assay
