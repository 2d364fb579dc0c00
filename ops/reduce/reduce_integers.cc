// SPDX-License-Identifier: Apache-2.0
// Reductions of integers, exactly: sums and products are what a register of the output's type holds, which is right
// modulo 2^bits in any order; a double holds neither these nor every i64.
#include <algorithm>
#include <mutex>

#include "harness/core/base/parallel.h"
#include "ops/binding.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

// The sum or product of all terms of a row but one, modulo 2^64; `without`: -1 leaves none out.
uint64_t Fold(const ReduceArgs& op, const Tensor& x, int64_t row, int64_t without = -1) {
  const bool multiplies = op.kind == ReduceKind::kProd;
  uint64_t result = multiplies ? 1 : 0;
  std::mutex mutex;
  ParallelFor(op.terms, int64_t{1} << 20, [&](int64_t begin, int64_t end) {
    uint64_t part = multiplies ? 1 : 0;
    ForStretches<int64_t>(op, x, row, begin, end, [&](int64_t first, std::span<const int64_t> terms) {
      for (size_t k = 0; k < terms.size(); ++k) {
        if (first + static_cast<int64_t>(k) == without) continue;
        multiplies ? part *= static_cast<uint64_t>(terms[k]) : part += static_cast<uint64_t>(terms[k]);
      }
    });
    const std::lock_guard lock(mutex);
    multiplies ? result *= part : result += part;
  });
  return result;
}

struct IntegerTerm {
  int64_t index = -1, number = 0;
};

// The first of the largest or the smallest terms.
IntegerTerm SelectInteger(const ReduceArgs& op, const Tensor& x, int64_t row) {
  IntegerTerm best;
  const auto take = [&](int64_t first, std::span<const int64_t> terms) {
    const auto found = WantsSmallest(op.kind) ? std::ranges::min_element(terms) : std::ranges::max_element(terms);
    const bool is_better = WantsSmallest(op.kind) ? *found < best.number : *found > best.number;
    if (best.index < 0 || is_better) best = {first + (found - terms.begin()), *found};
  };
  ForStretches<int64_t>(op, x, row, 0, op.terms, take);
  return best;
}

int64_t TermAt(const ReduceArgs& op, const Tensor& x, int64_t row, int64_t k) {
  int64_t term = 0;
  ToI64(x.dtype(), x.data() + (op.OffsetOfRow(row) + op.OffsetOfTerm(k)) * SizeOf(x.dtype()), {&term, 1});
  return term;
}

int64_t ResultOf(const ReduceArgs& op, const Tensor& x, int64_t row, DType out) {
  if (!IsSelection(op.kind)) return WrapTo(out, Fold(op, x, row));
  const IntegerTerm best = SelectInteger(op, x, row);
  return IsArg(op.kind) ? best.index : best.number;
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
      const int64_t y = ResultOf(op, x, row, out);
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
    const IntegerTerm golden = SelectInteger(op, x, row);
    if (TermAt(op, x, row, place) == golden.number) place = golden.index;
  }
}

std::vector<Mutant> OmittedIntegers(const Problem& problem, const Tensor& x, std::span<const int64_t> outputs) {
  const ReduceArgs op(problem);
  const DType out = problem.outputs[0].dtype;
  std::vector<Mutant> mutants;
  for (const int64_t output : outputs) {
    const uint64_t all = Fold(op, x, output);
    const int64_t right = WrapTo(out, all);
    for (const int64_t k : SampledTerms(op.terms, output)) {
      const bool adds = op.kind == ReduceKind::kSum;
      const uint64_t rest = adds ? all - static_cast<uint64_t>(TermAt(op, x, output, k)) : Fold(op, x, output, k);
      const int64_t wrong = WrapTo(out, rest);
      // Mutants are doubles. One that rounds to the right result would look like a fault that no comparison finds.
      const auto value = static_cast<double>(wrong);
      if (value != static_cast<double>(right)) mutants.push_back({output, value, k});
    }
  }
  return mutants;
}

}  // namespace assay
