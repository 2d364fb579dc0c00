// SPDX-License-Identifier: Apache-2.0
// Values that no register of integers holds: what wraps around on the way to a comparison or a wider type, quotients of
// zero, places that do not exist.
#include <algorithm>
#include <cmath>

#include "golden/dd/dd.h"
#include "ops/formula/integers.h"
#include "ops/formula/selection.h"
#include "ops/formula/values.h"

namespace assay::formula {
namespace {

bool IsBelow(DD x, DD y) {
  return x.hi < y.hi || (x.hi == y.hi && x.lo < y.lo);
}

DD Exactly(int64_t x) {
  const auto rounded = static_cast<double>(x);
  return {rounded, LowPart(x, rounded)};
}

bool AnyNan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double x) { return std::isnan(x); });
}

}  // namespace

void BlockValues::WrapProduct(int node, const Operands& lo) {
  const auto at = static_cast<size_t>(node);
  for (size_t i = 0; i < hi_[at].size(); ++i) {
    const auto x = WrapExact(DType::kI64, {operands_[0][i], lo[0][i]});
    const auto y = WrapExact(DType::kI64, {operands_[1][i], lo[1][i]});
    const DD product = x && y ? Exactly(static_cast<int64_t>(static_cast<uint64_t>(*x) * static_cast<uint64_t>(*y)))
                              : DD{std::nan(""), 0};
    hi_[at][i] = product.hi;
    lo_[at][i] = product.lo;
  }
}

// Comparisons are false of NaN, and a selection takes NaN for true.
bool BlockValues::IsOpened(int node, size_t i) const {
  const Node& info = plan_->graph().At(node);
  if (info.kind != Kind::kMap) return false;
  const size_t deciding = info.function == Function::kSelect ? 1 : info.args.size();
  return std::any_of(operands_.begin(), operands_.begin() + static_cast<std::ptrdiff_t>(deciding),
                     [i](const double* operand) { return std::isnan(operand[i]); });
}

void BlockValues::OpenUndefined(int node) {
  const auto at = static_cast<size_t>(node);
  const Graph& graph = plan_->graph();
  const Node& info = graph.At(node);
  if (info.kind == Kind::kTopK) {
    const std::vector<double>& x = hi_[static_cast<size_t>(info.args[0])];
    ForSelections(*plan_, node, lanes_, [&](const SelectionLine& line) {
      bool is_open = false;
      for (int64_t i = 0; i < line.size; ++i)
        is_open |= std::isnan(x[static_cast<size_t>(line.from + i * line.from_stride)]);
      for (int64_t k = 0; k < line.ranks && is_open; ++k) {
        hi_[at][static_cast<size_t>(line.to + k * line.to_stride)] = std::nan("");
      }
    });
  }
  if (info.kind == Kind::kScatterAdd && AnyNan(hi_[static_cast<size_t>(info.args.back())])) {
    std::ranges::fill(hi_[at], std::nan(""));
  }
  const std::optional<IntegerLimits>& limits = graph.limits[at];
  for (size_t i = 0; i < hi_[at].size(); ++i) {
    const DD x{hi_[at][i], dd_ ? lo_[at][i] : 0};
    const bool is_held =
        !limits.has_value() || (!IsBelow(x, Exactly(limits->low)) && !IsBelow(Exactly(limits->high), x));
    if (std::isfinite(x.hi) && is_held && !IsOpened(node, i)) continue;
    hi_[at][i] = std::nan("");
    if (dd_) lo_[at][i] = 0;
  }
}

}  // namespace assay::formula
