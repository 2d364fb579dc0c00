// SPDX-License-Identifier: Apache-2.0
// The frame of every matrix product of the corpus: y = alpha a b + beta c + bias element by element, with a hook for
// each step that a schedule or a bug may replace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/common/matmul_spec.h"
#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/entry.h"

namespace corpus {

// The element of y that is being computed.
struct Place {
  int64_t batch = 0, row = 0, column = 0;
};

// a as [batch, m, k], b as [batch, n, k] (transposed, so that a dot product runs along both), c as [batch, m, n].
template <class T>
struct MatmulOperands {
  std::vector<T> a, b, c, bias;
};

template <class T>
class MatmulPlan : public DensePlan<T> {
 public:
  MatmulPlan(const plugin::OpDesc& op, bool exact) : DensePlan<T>(op, exact), spec_(plugin::ParseMatmul(op)) {
    transa_ = op.AttrInt("transa") != 0, transb_ = op.AttrInt("transb") != 0;
  }

 protected:
  using Operands = MatmulOperands<T>;
  virtual void Prepare(Operands&) {}
  // sum_k a[k] b[k] of a row and a column of length spec().k.
  virtual T Dot(const T* a, const T* b, const Place& place) = 0;
  virtual T Epilogue(T product, const Operands& x, const Place& place) {
    product = Scaled(product);
    if (spec_.beta != 0) product += Beta() * x.c[static_cast<size_t>(Index(place))];
    if (!x.bias.empty()) product += x.bias[static_cast<size_t>(place.column)];
    return product;
  }
  virtual void Finish(const Operands&, DenseOutput<T>&) {}

  const plugin::MatmulSpec& spec() const { return spec_; }
  int64_t runs() const { return runs_; }  // completed executions of this plan
  int64_t Index(const Place& p) const { return (p.batch * spec_.m + p.row) * spec_.n + p.column; }
  T Beta() const { return static_cast<T>(spec_.beta); }
  // alpha times the product, rounded first where the operator's epilogue demands it.
  T Scaled(T product) const {
    product *= static_cast<T>(spec_.alpha);
    if (!spec_.epilogue_rounded || this->exact()) return product;
    return VisitComponent(spec_.y.dtype, [&]<class Storage>(std::type_identity<Storage>) {
      return plugin::Convert<T>(plugin::Convert<Storage>(product));
    });
  }

 private:
  void Compute(std::span<const std::vector<T>> inputs, DenseOutput<T>& output) final {
    const auto& [m, n, k, batch] = std::tie(spec_.m, spec_.n, spec_.k, spec_.batch);
    Operands x;
    x.a = transa_ ? Transposed(inputs[0], batch, k, m) : inputs[0];
    x.b = transb_ ? inputs[1] : Transposed(inputs[1], batch, k, n);
    if (spec_.c.input >= 0) x.c = inputs[static_cast<size_t>(spec_.c.input)];
    if (spec_.bias.input >= 0) x.bias = inputs[static_cast<size_t>(spec_.bias.input)];
    Prepare(x);
    Place at;
    for (at.batch = 0; at.batch < batch; ++at.batch) {
      for (at.row = 0; at.row < m; ++at.row) {
        for (at.column = 0; at.column < n; ++at.column) {
          const T* a = x.a.data() + (at.batch * m + at.row) * k;
          const T* b = x.b.data() + (at.batch * n + at.column) * k;
          output.values[static_cast<size_t>(Index(at))] = Epilogue(Dot(a, b, at), x, at);
        }
      }
    }
    Finish(x, output);
    ++runs_;
  }

  // [batch, rows, columns] as [batch, columns, rows].
  static std::vector<T> Transposed(const std::vector<T>& x, int64_t batch, int64_t rows, int64_t columns) {
    std::vector<T> y(x.size());
    for (int64_t at = 0; at < batch * rows * columns; at += rows * columns) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          y[static_cast<size_t>(at + j * rows + i)] = x[static_cast<size_t>(at + i * columns + j)];
        }
      }
    }
    return y;
  }

  const plugin::MatmulSpec spec_;
  bool transa_ = false, transb_ = false;
  int64_t runs_ = 0;
};

// The sum in order, each product and each sum rounded in T: what a kernel without a bug does.
template <class T>
T CleanDot(const T* a, const T* b, int64_t k) {
  T sum = 0;
  for (int64_t i = 0; i < k; ++i) sum += a[i] * b[i];
  return sum;
}

// The kernel without a bug, for bugs that are not in the sum.
template <class T>
class CleanMatmul : public MatmulPlan<T> {
 public:
  using MatmulPlan<T>::MatmulPlan;

 protected:
  T Dot(const T* a, const T* b, const Place&) override { return CleanDot(a, b, this->spec().k); }
};

// "" for the floating-point types that the corpus decodes and for i8 products.
std::string MatmulWhyNot(const plugin::OpDesc& op);
// f32acc, f64 or acc=i32, as a kernel with sums of the carrier declares it.
std::string MatmulContract(const plugin::OpDesc& op);

// Whether some input is of the type, for entries that are about one.
bool HasInputs(const plugin::OpDesc& op, plugin::DType dtype);

}  // namespace corpus
