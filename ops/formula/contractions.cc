// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/contractions.h"

#include <algorithm>

#include "golden/bound/bound.h"
#include "golden/gemm/gemm_engine.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"

namespace assay::formula {
namespace {

// Fewer products are as fast term by term.
constexpr int64_t kLeastProducts = 1 << 15;
constexpr int64_t kLeastExtent = 4;  // of rows and of columns

std::vector<int> Concatenated(std::vector<int> first, const std::vector<int>& second, const std::vector<int>& third) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

std::optional<MatrixProduct> MatrixProductAt(const Graph& graph, int sum) {
  const Node& info = graph.At(sum);
  if (info.kind != Kind::kSum) return std::nullopt;
  const int product = info.args[0];
  const Node& terms = graph.At(product);
  if (!Maps(terms, Function::kMul) || terms.numbers != Numbers::kReal || terms.non_negative) return std::nullopt;
  const Node &left = graph.At(terms.args[0]), &right = graph.At(terms.args[1]);
  const AxisSet common = left.axes & right.axes, reduced = info.reduced;
  if ((reduced & ~common) != 0 || left.numbers != Numbers::kReal || right.numbers != Numbers::kReal)
    return std::nullopt;
  const int64_t rows = graph.ExtentOf(left.axes & ~common), columns = graph.ExtentOf(right.axes & ~common);
  if (std::min(rows, columns) < kLeastExtent || graph.ExtentOf(reduced) < 2) return std::nullopt;
  if (graph.ExtentOf(left.axes | right.axes) < kLeastProducts) return std::nullopt;
  MatrixProduct found{.sum = sum, .product = product, .left = terms.args[0], .right = terms.args[1]};
  found.batch = ListAxes(common & ~reduced), found.rows = ListAxes(left.axes & ~common);
  found.columns = ListAxes(right.axes & ~common), found.terms = ListAxes(reduced);
  CollectFactors(graph, found.left, false, found.left_parts);
  CollectFactors(graph, found.right, false, found.right_parts);
  return found;
}

}  // namespace

std::vector<int> MatrixProduct::LeftLayout() const {
  return Concatenated(batch, rows, terms);
}
std::vector<int> MatrixProduct::RightLayout() const {
  return Concatenated(batch, terms, columns);
}
std::vector<int> MatrixProduct::SumLayout() const {
  return Concatenated(batch, rows, columns);
}

std::vector<MatrixProduct> FindMatrixProducts(const Graph& graph, int output) {
  std::vector<int> uses(graph.nodes.size());  // of nodes that lead to the output
  uses[static_cast<size_t>(output)] = 1;
  for (size_t at = graph.nodes.size(); at-- > 0;) {
    for (const int arg : graph.nodes[at].args) uses[static_cast<size_t>(arg)] += uses[at] > 0 ? 1 : 0;
  }
  std::vector<MatrixProduct> found;
  for (size_t at = 0; at < uses.size() && graph.limits.empty(); ++at) {
    const std::optional<MatrixProduct> one =
        uses[at] > 0 ? MatrixProductAt(graph, static_cast<int>(at)) : std::optional<MatrixProduct>();
    if (one && uses[static_cast<size_t>(one->product)] == 1) found.push_back(*one);
  }
  return found;
}

bool HoldsFactors(const Graph& graph, const MatrixProduct& product) {
  constexpr int64_t kMostOfFactor = int64_t{1} << 27;
  return graph.ExtentOf(graph.At(product.left).axes) <= kMostOfFactor &&
         graph.ExtentOf(graph.At(product.right).axes) <= kMostOfFactor;
}

std::optional<Slicing> FindSlicing(const Graph& graph, const OutputInfo& output, int64_t most_held) {
  AxisSet sums = 0;  // axes of the product that has most of them
  for (const MatrixProduct& product : FindMatrixProducts(graph, output.node)) {
    const AxisSet axes = graph.At(product.sum).axes;
    if (graph.ExtentOf(axes) > std::max(most_held, graph.ExtentOf(sums))) sums = axes;
  }
  const BlockPlan plan(graph, output);
  std::optional<Slicing> longest;
  for (const int axis : output.axes) {
    if (!Has(sums, axis) || plan.InnerOf(SetOf(axis)) != 0 || graph.Extent(axis) < 2) continue;
    if (!longest || graph.Extent(axis) > graph.Extent(longest->axis)) longest = {axis, 1};
  }
  if (!longest) return std::nullopt;
  const int64_t extent = graph.Extent(longest->axis), of_one = graph.ExtentOf(sums) / extent;
  longest->extent = std::max<int64_t>(1, most_held / of_one);
  return longest;
}

}  // namespace assay::formula
