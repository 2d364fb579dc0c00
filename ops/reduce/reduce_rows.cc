// SPDX-License-Identifier: Apache-2.0
// How a reduction's rows lie in x, and which term a selection selects.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "harness/core/base/parallel.h"
#include "ops/binding.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

// Offset in x of the element whose coordinates along `axes` count up row-major to `index`, all others zero.
int64_t OffsetAlong(const ReduceArgs& op, const std::vector<int64_t>& axes, int64_t index) {
  int64_t offset = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    offset += index % op.shape[*axis] * op.strides[*axis];
    index /= op.shape[*axis];
  }
  return offset;
}

bool Beats(const ReduceArgs& op, double x, double best) {
  if (std::isnan(best)) return op.ignore_nan && !std::isnan(x);
  if (std::isnan(x)) return !op.ignore_nan;
  return WantsSmallest(op.kind) ? x < best : x > best;
}

}  // namespace

int64_t ReduceArgs::OffsetOfRow(int64_t row) const {
  return dense_rows ? row * terms : OffsetAlong(*this, kept, row);
}

int64_t ReduceArgs::OffsetOfTerm(int64_t k) const {
  return dense_rows ? k : OffsetAlong(*this, reduced, k);
}

std::vector<int64_t> ReduceArgs::OffsetsOfTerms() const {
  std::vector<int64_t> offsets(static_cast<size_t>(terms));
  for (int64_t k = 0; k < terms; ++k) offsets[k] = OffsetOfTerm(k);
  return offsets;
}

std::vector<double> ReduceArgs::Rows(const Tensor& x) const {
  std::vector<double> dense = x.ToDoubles();
  if (dense_rows) return dense;
  const std::vector<int64_t> offsets = OffsetsOfTerms();
  std::vector<double> permuted(dense.size());
  ParallelFor(rows, std::max<int64_t>(1, 4096 / terms), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const double* from = dense.data() + OffsetOfRow(row);
      double* to = permuted.data() + row * terms;
      for (int64_t k = 0; k < terms; ++k) to[k] = from[offsets[k]];
    }
  });
  return permuted;
}

std::vector<double> ReduceArgs::Row(const Tensor& x, int64_t row) const {
  const int64_t origin = OffsetOfRow(row);
  std::vector<double> values(static_cast<size_t>(terms));
  if (dense_rows) {
    ToF64(x.dtype(), x.data() + origin * SizeOf(x.dtype()), values);
    return values;
  }
  for (int64_t k = 0; k < terms; ++k) values[k] = ValueAt(x, origin + OffsetOfTerm(k));
  return values;
}

int64_t SelectedTerm(const ReduceArgs& op, std::span<const double> row) {
  int64_t best = 0;
  for (int64_t k = 1; k < std::ssize(row); ++k) {
    if (Beats(op, row[k], row[best])) best = k;
  }
  return best;
}

RowTerm SelectFromRow(const ReduceArgs& op, const Tensor& x, int64_t row, int64_t without) {
  RowTerm best;
  std::mutex mutex;
  const auto take = [&](int64_t first, std::span<const double> numbers) {
    const int64_t k = SelectedTerm(op, numbers);
    const RowTerm found{first + k, numbers[k]};
    const std::lock_guard lock(mutex);
    const bool is_first = found.index < best.index && !Beats(op, best.number, found.number);
    if (best.index < 0 || is_first || Beats(op, found.number, best.number)) best = found;
  };
  const auto take_all = [&](int64_t first, int64_t last) {
    ParallelFor(last - first, int64_t{1} << 20, [&](int64_t begin, int64_t end) {
      ForStretches<double>(op, x, row, first + begin, first + end, take);
    });
  };
  take_all(0, without < 0 ? op.terms : without);
  if (without >= 0) take_all(without + 1, op.terms);
  return best;
}

bool ReducesInStretches(const Problem& problem) {
  if (problem.spec.op != "reduce") return false;
  return ReducesIntegers(problem) || IsSelection(*ParseReduceKind(problem.Text("kind")));
}

}  // namespace assay
