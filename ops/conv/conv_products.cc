// SPDX-License-Identifier: Apache-2.0
// The products x w of one output of conv, in the order of channels and taps; those of padded taps are 0.
#include <algorithm>
#include <vector>

#include "ops/conv/conv.h"

namespace assay {
namespace {

class ProductsOfTaps : public SumProducts {
 public:
  ProductsOfTaps(const ConvArgs& op, std::span<const Tensor> inputs)
      : op_(op), x_(inputs[0].ToDoubles()), w_(inputs[1].ToDoubles()) {}

  int64_t terms() const override { return op_.Terms(); }

  void Read(int64_t output, std::span<double> products) const override {
    std::ranges::fill(products, 0);
    for (const ConvTerm& term : VisibleTerms(op_, output)) {
      products[static_cast<size_t>(term.w % op_.Terms())] =
          x_[static_cast<size_t>(term.x)] * w_[static_cast<size_t>(term.w)];
    }
  }

 private:
  ConvArgs op_;
  std::vector<double> x_, w_;
};

}  // namespace

std::unique_ptr<SumProducts> ConvProducts(const Problem& problem, std::span<const Tensor> inputs) {
  const ConvArgs op(problem);
  return op.bias ? nullptr : std::make_unique<ProductsOfTaps>(op, inputs);
}

}  // namespace assay
