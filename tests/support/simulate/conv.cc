// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulate/conv.h"

#include <cmath>

#include "ops/binding.h"

namespace assay::test {
namespace {

// Row-major digits of `index` over `extents`.
std::vector<int64_t> Digits(int64_t index, std::span<const int64_t> extents) {
  std::vector<int64_t> digits(extents.size());
  for (size_t a = extents.size(); a-- > 0; index /= extents[a]) digits[a] = index % extents[a];
  return digits;
}

int64_t Product(std::span<const int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents) product *= extent;
  return product;
}

}  // namespace

int64_t ChannelOf(const Problem& problem, int64_t output) {
  return Digits(output, problem.outputs[0].shape)[1];
}

std::vector<ConvProduct> ProductsOf(const Problem& problem, int64_t output) {
  const std::vector<int64_t> at = Digits(output, problem.outputs[0].shape);
  const auto &i = problem.List("i"), &k = problem.List("k");
  const int64_t inputs = problem.Int("c") / problem.Int("groups");
  const int64_t group = at[1] / (problem.Int("o") / problem.Int("groups"));
  std::vector<ConvProduct> products;
  for (int64_t c = 0; c < inputs; ++c) {
    for (int64_t tap = 0; tap < Product(k); ++tap) {
      const std::vector<int64_t> t = Digits(tap, k);
      int64_t x = at[0] * problem.Int("c") + group * inputs + c;
      bool inside = true;
      for (size_t a = 0; a < i.size(); ++a) {
        const int64_t source =
            at[2 + a] * problem.List("stride")[a] + t[a] * problem.List("dilation")[a] - problem.List("pad")[a];
        inside = inside && source >= 0 && source < i[a];
        x = x * i[a] + source;
      }
      products.push_back({inside ? x : -1, (at[1] * inputs + c) * Product(k) + tap});
    }
  }
  return products;
}

std::vector<double> RunConv(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                            const Arithmetic& unit, Padding padding) {
  const DType in = problem.inputs[0].dtype, out = problem.outputs[0].dtype;
  const std::vector<double> x = inputs[0].ToDoubles(), w = inputs[1].ToDoubles();
  std::vector<double> y;
  for (int64_t output = 0; output < NumElements(problem.outputs[0].shape); ++output) {
    std::vector<double> a, b;
    for (const ConvProduct& product : ProductsOf(problem, output)) {
      if (product.x < 0 && padding == Padding::kSkipped) continue;
      a.push_back(product.x < 0 ? 0.0 : unit.Operand(in, x[product.x]));
      b.push_back(unit.Operand(in, w[product.w]));
    }
    double sum = a.empty() ? 0 : Sum(a, b, schedule, unit);
    if (inputs.size() > 2) sum = unit.Add(sum, unit.In(out, ValueAt(inputs[2], ChannelOf(problem, output))));
    y.push_back(unit.Out(out, sum));
  }
  return y;
}

std::vector<double> IntegerConv(const Problem& problem, std::span<const Tensor> inputs, const Fault& fault) {
  const std::vector<double> x = inputs[0].ToDoubles(), w = inputs[1].ToDoubles();
  std::vector<double> y;
  for (int64_t output = 0; output < NumElements(problem.outputs[0].shape); ++output) {
    std::vector<ConvProduct> products = ProductsOf(problem, output);
    if (fault) fault(output, products);
    double sum = inputs.size() > 2 ? ValueAt(inputs[2], ChannelOf(problem, output)) : 0;
    for (const ConvProduct& product : products) sum += product.x < 0 ? 0 : x[product.x] * w[product.w];
    y.push_back(sum);
  }
  return y;
}

}  // namespace assay::test
