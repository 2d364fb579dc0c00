// SPDX-License-Identifier: Apache-2.0
// Matrix products whose sums, operands and epilogues are rows of tables.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/faults/corpus/held/struck.h"
#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {

// Where y is computed with the sums that a table says; elsewhere the plain loop is at work.
struct Region {
  Which batches = All(), rows = All(), columns = All();
};

// Every sum as `sum` says, in one region.
template <class T>
class SummedMatmul : public MatmulPlan<T> {
 public:
  SummedMatmul(Description op, bool exact, const Summation& sum, const Region& region)
      : MatmulPlan<T>(op, exact), sum_(sum), region_(region) {}

 private:
  T Dot(const T* a, const T* b, const Place& at) override {
    const plugin::MatmulSpec& s = this->spec();
    const bool struck =
        region_.batches.Has(at.batch, s.batch) && region_.rows.Has(at.row, s.m) && region_.columns.Has(at.column, s.n);
    return struck ? SumOf(sum_, a, b, s.k) : CleanDot(a, b, s.k);
  }

  const Summation sum_;
  const Region region_;
};

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
};

template <class T>
class EndingMatmul : public CleanMatmul<T> {
 public:
  using End = std::function<T(const Ending<T>&)>;
  EndingMatmul(Description op, bool exact, End end) : CleanMatmul<T>(op, exact), end_(std::move(end)) {}

 private:
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const plugin::MatmulSpec& s = this->spec();
    return end_({s, x, at, product, static_cast<T>(s.alpha), static_cast<T>(s.beta), this->exact()});
  }
  const End end_;
};

// a as [batch, m, k], b as [batch, n, k], y as [batch, m, n], whatever their layouts: operand 0, 1 and kOutput of an
// IoBug.
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

std::vector<Entry> MatmulHeldSums();    // terms, arithmetic
std::vector<Entry> MatmulHeldPlaces();  // operands, outputs, epilogues
std::vector<Entry> MatmulHeldLegal();

}  // namespace corpus
