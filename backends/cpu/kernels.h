// SPDX-License-Identifier: Apache-2.0
// The kernels of operators that have several implementations: why one does not take a problem, what it declares, and
// its plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/common/host.h"
#include "backends/common/table.h"
#include "backends/cpu/fft_line.h"

namespace cpu {

// matmul for every combination of storage types. The implementations differ in the order in which k is summed.
enum class KOrder {
  kSequential,  // one sum over ascending k
  kPanels,      // a sum per panel of 256, the panels added in order
  kSplit,       // four sums over quarters of k, added as (0+1)+(2+3)
};

// Why it is not computed; "" when it is.
std::string MatmulWhyNot(const plugin::OpDesc& op);
std::string MatmulContract(const plugin::OpDesc& op);

std::unique_ptr<plugin::Plan> CreateMatmulPlan(const plugin::OpDesc& op, KOrder order);

// reduce for f64, f32, f16, bf16 and integers. The implementations differ in the order of the sum (or product, or
// comparison).
enum class SumOrder { kSequential, kPairwise, kStrided };

// Why it is not computed; "" when it is.
std::string ReduceWhyNot(const plugin::OpDesc& op);
// ReduceWhyNot for implementations that reorder a sum; argmax and argmin have no sum.
std::string FoldWhyNot(const plugin::OpDesc& op);
std::string ReduceContract(const plugin::OpDesc& op);

std::unique_ptr<plugin::Plan> CreateReducePlan(const plugin::OpDesc& op, SumOrder order);

// softmax and log-softmax for f64, f32, f16, bf16. A row of nothing but -inf gives NaN, by the formula.
enum class SoftmaxForm {
  kDirect,  // three passes: maximum, sum of exponentials, division
  kOnline,  // maximum and sum in one pass; the sum is rescaled when the maximum grows
};

std::string SoftmaxWhyNot(const plugin::OpDesc& op);
std::string SoftmaxContract(const plugin::OpDesc& op);
std::unique_ptr<plugin::Plan> CreateSoftmaxPlan(const plugin::OpDesc& op, SoftmaxForm form);

// attention for f64, f32, f16, bf16: scores, probabilities and sums in f32 (f64). Masked keys are never used, so that
// nothing behind a mask can reach the result.
std::string AttentionWhyNot(const plugin::OpDesc& op);
std::string AttentionContract(const plugin::OpDesc& op);

// block 0: a row of scores, its softmax, then the weighted sum; else by blocks of keys with running maximum and sum
// (Dao et al., arXiv 2205.14135).
std::unique_ptr<plugin::Plan> CreateAttentionPlan(const plugin::OpDesc& op, int64_t block);

// fft for c64, c128 and their real counterparts, any number of axes. Real transforms go through complex ones.
std::unique_ptr<plugin::Plan> CreateFftPlan(const plugin::OpDesc& op, FftAlgorithm algorithm);
// Why it is not computed; "" when it is.
std::string FftWhyNot(const plugin::OpDesc& op, FftAlgorithm algorithm);
std::string FftContract(const plugin::OpDesc& op, FftAlgorithm algorithm);

template <FftAlgorithm kAlgorithm>
struct FftRow {
  static std::unique_ptr<plugin::Plan> Create(plugin::HostDevice&, const plugin::OpDesc& op) {
    return CreateFftPlan(op, kAlgorithm);
  }
  static std::string WhyNot(const plugin::OpDesc& op) { return FftWhyNot(op, kAlgorithm); }
  static std::string Contract(const plugin::OpDesc& op) { return FftContract(op, kAlgorithm); }
};

// Functions of single elements that tables name, each computed in two ways.
std::vector<plugin::Row<plugin::HostDevice>> PointwiseRows();

}  // namespace cpu
