// SPDX-License-Identifier: Apache-2.0
// Matrix products whose sums and epilogues are rows of tables, and bugs around a correct one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/faults/corpus/edits.h"
#include "tests/faults/corpus/matmul_plan.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

// One element's epilogue: what it may read, and the correct one.
template <class T>
struct Ending {
  const plugin::MatmulSpec& s;
  const MatmulOperands<T>& x;
  Place at;
  T product, alpha, beta;
  bool exact;

  T C(int64_t batch, int64_t row, int64_t column) const {
    return x.c.empty() ? T{0} : x.c[static_cast<size_t>((batch * s.m + row) * s.n + column)];
  }
  T C() const { return C(at.batch, at.row, at.column); }
  T Bias(int64_t column) const { return x.bias.empty() ? T{0} : x.bias[static_cast<size_t>(column)]; }
  T Bias() const { return Bias(at.column); }
  // Rounds y to the output's type. An effect's output is wider than the output that it stands for, which has the
  // operands' type.
  T Stored(T y) const {
    const plugin::DType type = exact ? s.a.dtype : s.y.dtype;
    return Rounded(Nearest(type == plugin::kF16 ? kHalf : type == plugin::kBF16 ? kBrain : kDouble), y);
  }
  T Scaled() const { return s.epilogue_rounded && !exact ? Stored(alpha * product) : alpha * product; }
  T Clean() const { return Scaled() + (beta != 0 ? beta * C() : T{0}) + Bias(); }
  T With(T other_product) const {
    Ending other = *this;
    other.product = other_product;
    return other.Clean();
  }
};

template <class T>
struct MatmulKernel {
  std::function<T(const T*, const T*, const plugin::MatmulSpec&, const Place&)> dot;  // none: in order
  std::function<T(const Ending<T>&)> ending;                                          // none: the correct one
};

template <class T>
class KernelMatmul : public CleanMatmul<T> {
 public:
  KernelMatmul(Description op, bool exact, MatmulKernel<T> kernel = {})
      : CleanMatmul<T>(op, exact), kernel_(std::move(kernel)) {}

 protected:
  T Dot(const T* a, const T* b, const Place& at) override {
    return kernel_.dot ? kernel_.dot(a, b, this->spec(), at) : CleanMatmul<T>::Dot(a, b, at);
  }
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    if (!kernel_.ending) return CleanMatmul<T>::Epilogue(product, x, at);
    const plugin::MatmulSpec& s = this->spec();
    return kernel_.ending({s, x, at, product, static_cast<T>(s.alpha), static_cast<T>(s.beta), this->exact()});
  }

 private:
  const MatmulKernel<T> kernel_;
};

template <class T>
using MatmulEdits = Edits<MatmulKernel<T>, plugin::MatmulSpec>;
template <template <class> class Plan = KernelMatmul, class Fill>
std::vector<Entry> MatmulRows(Fill fill) {
  return EntriesOf<Plan, MatmulKernel>("matmul", MatmulContract, MatmulWhyNot, plugin::ParseMatmul, fill);
}

// a as [batch, m, k], b as [batch, n, k], y as [batch, m, n], whatever their layouts: operand 0, 1 and kOutput of an
// IoBug, and axes -3 (the matrix), -2 (the row of a or y and the column of b) and -1 (the term or the column of y).
plugin::Tensor LogicalTensor(const IoBug& bug, Description op);

template <class T>
class StruckMatmul : public CleanMatmul<T> {
 public:
  StruckMatmul(const IoBug& bug, Description op, bool exact)
      : CleanMatmul<T>(op, exact), bug_(bug), tensor_(LogicalTensor(bug, op)) {}

 private:
  void Prepare(MatmulOperands<T>& x) override {
    if (bug_.operand != kOutput) Strike(bug_.operand == 0 ? x.a : x.b);
  }
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    if (bug_.operand == kOutput) StrikeValues(bug_, tensor_, this->exact(), {}, y.values, y, tensor_.dtype);
  }
  void Strike(std::vector<T>& values) {
    DenseOutput<T> x{std::move(values), {}};
    StrikeValues(bug_, tensor_, this->exact(), {}, {}, x, tensor_.dtype);
    values = std::move(x.values);
  }

  const IoBug bug_;
  const plugin::Tensor tensor_;
};

// By logical axes, or as operands lie in memory.
std::vector<Entry> MatmulPlaceBugs(std::span<const IoBug> bugs);
std::vector<Entry> MatmulIoBugs(std::span<const IoBug> bugs);

}  // namespace corpus
