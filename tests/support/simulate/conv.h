// SPDX-License-Identifier: Apache-2.0
// Convolutions as the definition writes them, and as correct kernels compute them. Indices are worked out here, from
// the attributes alone, so that a mistake in the operator's own index arithmetic shows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/operator.h"
#include "tests/support/simulate/schedule.h"

namespace assay::test {

// One product of an output: offsets into x and w; x < 0: the tap lies in the padding.
struct ConvProduct {
  int64_t x = 0, w = 0;
};
std::vector<ConvProduct> ProductsOf(const Problem& problem, int64_t output);
int64_t ChannelOf(const Problem& problem, int64_t output);

// Skips padding, or multiplies its zeros (im2col).
enum class Padding : uint8_t { kSkipped, kMultiplied };
std::vector<double> RunConv(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                            const Arithmetic& unit, Padding padding);

// Exact for integers below 2^53. `faulty` may change or drop (x = -1) products.
using Fault = std::function<void(int64_t output, std::vector<ConvProduct>& products)>;
std::vector<double> IntegerConv(const Problem& problem, std::span<const Tensor> inputs, const Fault& fault = {});

// F(m x m, 3 x 3) by Lavin and Gray's matrices in the unit's arithmetic; U and V rounded to `stored`. kFractions:
// F(4,3) with the points 0, +-5/8, +-3/2.
enum class Points : uint8_t { kIntegers, kFractions };
std::vector<double> RunWinograd(const Problem& problem, std::span<const Tensor> inputs, int m, bool fma,
                                const Arithmetic& unit, DType stored, Points points = Points::kIntegers);

// By discrete Fourier transforms in the unit's arithmetic, in tiles of so many outputs a side, 0: the whole image. What
// is divided by the number of points: the transformed kernel, the sum of products, or what is transformed back.
enum class Divided : uint8_t { kKernel, kSum, kResult };
std::vector<double> RunFftConv(const Problem& problem, std::span<const Tensor> inputs, int64_t tile, Divided divided,
                               const Arithmetic& unit);

}  // namespace assay::test
