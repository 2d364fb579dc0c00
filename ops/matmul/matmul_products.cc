// SPDX-License-Identifier: Apache-2.0
// The products a[i,k] b[k,j] of one output of matmul, in the order of k.
#include <algorithm>
#include <utility>
#include <vector>

#include "ops/matmul/matmul.h"

namespace assay {
namespace {

class Products : public SumProducts {
 public:
  Products(const MatmulArgs& op, std::span<const Tensor> inputs)
      : op_(op), a_(inputs[0].ToDoubles()), b_(inputs[1].ToDoubles()) {
    if (op.gemm.transb) return;
    const std::vector<double> rows = std::exchange(b_, std::vector<double>(b_.size()));
    const int64_t k = op.gemm.k, n = op.gemm.n;
    for (int64_t first = 0; first < std::ssize(rows); first += k * n) {
      for (int64_t to = 0; to < k; to += kBlock) {
        for (int64_t column = 0; column < n; ++column) {
          for (int64_t row = to; row < std::min(k, to + kBlock); ++row) {
            b_[first + column * k + row] = rows[first + row * n + column];
          }
        }
      }
    }
  }

  int64_t terms() const override { return op_.gemm.k; }

  void Read(int64_t output, std::span<double> products) const override {
    const int64_t batch = op_.BatchOf(output), row = op_.RowsOfA(output) % op_.gemm.m, column = op_.ColumnOf(output);
    const double* a = a_.data() + op_.OffsetInA(batch, row, 0);
    const double* b = b_.data() + op_.OffsetInB(batch, 0, 0) + column * op_.gemm.k;
    const int64_t step = op_.gemm.transa ? op_.gemm.m : 1;
    for (int64_t k = 0; k < op_.gemm.k; ++k) products[k] = a[k * step] * b[k];
  }

 private:
  static constexpr int64_t kBlock = 16;  // rows whose lines stay in the cache from one column to the next

  MatmulArgs op_;
  std::vector<double> a_, b_;  // b's columns one after the other, as they are read
};

}  // namespace

std::vector<double> MatmulTerms(const MatmulArgs& op, std::span<const Tensor> inputs, int64_t output) {
  const int64_t batch = op.BatchOf(output), row = op.RowsOfA(output) % op.gemm.m, column = op.ColumnOf(output);
  std::vector<double> terms;
  for (int64_t k = 0; k < op.gemm.k; ++k) {
    terms.push_back(ValueAt(inputs[0], op.OffsetInA(batch, row, k)) *
                    ValueAt(inputs[1], op.OffsetInB(batch, k, column)));
  }
  return terms;
}

std::unique_ptr<SumProducts> MatmulProducts(const Problem& problem, std::span<const Tensor> inputs) {
  const MatmulArgs op(problem);
  if (op.HasEpilogue()) return nullptr;
  return std::make_unique<Products>(op, inputs);
}

}  // namespace assay
