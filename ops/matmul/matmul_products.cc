// SPDX-License-Identifier: Apache-2.0
// The products a[i,k] b[k,j] of one output of matmul, in the order of k.
#include <vector>

#include "ops/matmul/matmul.h"

namespace assay {
namespace {

class Products : public SumProducts {
 public:
  Products(const MatmulArgs& op, std::span<const Tensor> inputs)
      : op_(op), a_(inputs[0].ToDoubles()), b_(inputs[1].ToDoubles()) {}

  int64_t terms() const override { return op_.gemm.k; }

  void Read(int64_t output, std::span<double> products) const override {
    const int64_t batch = op_.BatchOf(output), row = op_.RowsOfA(output) % op_.gemm.m, column = op_.ColumnOf(output);
    const double* a = a_.data() + op_.OffsetInA(batch, row, 0);
    const double* b = b_.data() + op_.OffsetInB(batch, 0, column);
    const int64_t step_a = op_.gemm.transa ? op_.gemm.m : 1, step_b = op_.gemm.transb ? 1 : op_.gemm.n;
    for (int64_t k = 0; k < op_.gemm.k; ++k) products[k] = a[k * step_a] * b[k * step_b];
  }

 private:
  MatmulArgs op_;
  std::vector<double> a_, b_;
};

}  // namespace

std::vector<double> MatmulTerms(const MatmulArgs& op, std::span<const Tensor> inputs, int64_t output) {
  std::vector<double> terms(static_cast<size_t>(op.gemm.k));
  Products(op, inputs).Read(output, terms);
  return terms;
}

std::unique_ptr<SumProducts> MatmulProducts(const Problem& problem, std::span<const Tensor> inputs) {
  const MatmulArgs op(problem);
  if (op.HasEpilogue()) return nullptr;
  return std::make_unique<Products>(op, inputs);
}

}  // namespace assay
