// SPDX-License-Identifier: Apache-2.0
// Reductions of integers, exactly: sums and products are what a register of the output's type holds, which is right
// modulo 2^bits in any order; a double holds neither these nor every i64.
#include <algorithm>
#include <utility>

#include "harness/core/base/parallel.h"
#include "ops/binding.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

std::vector<int64_t> ReadRow(const ReduceArgs& op, const Tensor& x, int64_t row) {
  std::vector<int64_t> values(static_cast<size_t>(op.terms));
  const std::byte* from = x.data() + op.OffsetOfRow(row) * SizeOf(x.dtype());
  if (op.dense_rows) {
    ToI64(x.dtype(), from, values);
    return values;
  }
  for (int64_t k = 0; k < op.terms; ++k) {
    ToI64(x.dtype(), from + op.OffsetOfTerm(k) * SizeOf(x.dtype()), std::span(values).subspan(k, 1));
  }
  return values;
}

int64_t Fold(const ReduceArgs& op, std::span<const int64_t> row, DType out) {
  uint64_t result = op.kind == ReduceKind::kProd ? 1 : 0;
  for (const int64_t x : row) {
    op.kind == ReduceKind::kProd ? result *= static_cast<uint64_t>(x) : result += static_cast<uint64_t>(x);
  }
  return WrapTo(out, result);
}

int64_t ResultOf(const ReduceArgs& op, std::span<const int64_t> row, DType out) {
  if (!IsSelection(op.kind)) return Fold(op, row, out);
  const auto best = WantsSmallest(op.kind) ? std::ranges::min_element(row) : std::ranges::max_element(row);
  return IsArg(op.kind) ? best - row.begin() : *best;
}

}  // namespace

bool ReducesIntegers(const Problem& problem) {
  const DType x = problem.inputs[0].dtype, y = problem.outputs[0].dtype;
  const bool folds = !IsSelection(*ParseReduceKind(problem.Text("kind")));
  const bool fits = x == DType::kI8 && y == DType::kI32 && problem.Text("kind") == "sum";
  return IsInt(x) && (folds ? !fits : x == DType::kI64);
}

Golden FoldIntegers(const Problem& problem, const Tensor& x) {
  const ReduceArgs op(problem);
  const DType out = problem.outputs[0].dtype;
  Golden golden;
  golden.exact = true;
  golden.value.resize(static_cast<size_t>(op.rows));
  golden.value_lo.resize(golden.value.size());
  golden.magnitude = Plane(op.rows, SizeOf(out) == 8);
  ParallelFor(op.rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(op.terms, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t y = ResultOf(op, ReadRow(op, x, row), out);
      const auto i = static_cast<size_t>(row);
      golden.value[i] = static_cast<double>(y);
      golden.value_lo[i] = LowPart(y, golden.value[i]);
    }
  });
  if (std::ranges::all_of(golden.value_lo, [](double low) { return low == 0; })) golden.value_lo.clear();
  return golden;
}

void CanonicaliseIntegers(const ReduceArgs& op, const Tensor& x, std::span<int64_t> places) {
  for (int64_t row = 0; row < op.rows; ++row) {
    int64_t& place = places[static_cast<size_t>(row)];
    if (place < 0 || place >= op.terms) continue;
    const std::vector<int64_t> terms = ReadRow(op, x, row);
    const int64_t golden = ResultOf(op, terms, DType::kI64);
    if (terms[static_cast<size_t>(place)] == terms[static_cast<size_t>(golden)]) place = golden;
  }
}

std::vector<Mutant> OmittedIntegers(const Problem& problem, const Tensor& x, std::span<const int64_t> outputs) {
  const ReduceArgs op(problem);
  const DType out = problem.outputs[0].dtype;
  const int64_t neutral = op.kind == ReduceKind::kProd ? 1 : 0;
  std::vector<Mutant> mutants;
  for (const int64_t output : outputs) {
    std::vector<int64_t> row = ReadRow(op, x, output);
    const int64_t right = Fold(op, row, out);
    for (const int64_t k : SampledTerms(op.terms, output)) {
      const int64_t term = std::exchange(row[static_cast<size_t>(k)], neutral);
      const int64_t wrong = Fold(op, row, out);
      row[static_cast<size_t>(k)] = term;
      // Mutants are doubles. One that rounds to the right result would look like a fault that no comparison finds.
      const auto value = static_cast<double>(wrong);
      if (value != static_cast<double>(right)) mutants.push_back({output, value, k});
    }
  }
  return mutants;
}

}  // namespace assay
