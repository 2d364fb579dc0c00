// SPDX-License-Identifier: Apache-2.0
// The operators that oneDNN has, a row each. The library names the implementations of a primitive; a row without a name
// stands for all of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/common/table.h"
#include "backends/onednn/problem.h"

namespace onednn {

struct Row : plugin::Columns {
  std::string (*contract)(const plugin::OpDesc& op, const std::string& implementation);
  // The primitives that compute the operator, one for each set of names. Null: it is composed of several.
  std::vector<Problem> (*problems)(const plugin::OpDesc& op, const dnnl::engine& engine);
  std::unique_ptr<plugin::Plan> (*compose)(const plugin::OpDesc& op, const dnnl::engine& engine) = nullptr;
};

inline constexpr plugin::DType kOneDnnTypes[] = {plugin::kF32, plugin::kBF16};
// Types of functions that choose among bytes. Other functions saturate, where the operators wrap around.
inline constexpr plugin::DType kTypesWithBytes[] = {plugin::kF32, plugin::kBF16, plugin::kI8, plugin::kU8};
inline bool IsByteType(plugin::DType dtype) {
  return dtype == plugin::kI8 || dtype == plugin::kU8;
}

// The rows of one file each. What makes problems and plans throws Unsupported with the reason when oneDNN has no
// implementation.
std::span<const Row> AttentionRows();
std::span<const Row> BinaryRows();
std::span<const Row> ChannelNormRows();
std::span<const Row> ConvGradientRows();
std::span<const Row> ConvRows();
std::span<const Row> ElementwiseRows();
std::span<const Row> MatmulRows();
std::span<const Row> NormRows();
std::span<const Row> PoolingRows();
std::span<const Row> ReduceRows();
std::span<const Row> ReorderRows();
std::span<const Row> ResizeRows();
std::span<const Row> ScaledProductRows();
std::span<const Row> SoftmaxRows();

// For rows with a single set of names.
template <Problem (*kMake)(const plugin::OpDesc&, const dnnl::engine&)>
std::vector<Problem> Alone(const plugin::OpDesc& op, const dnnl::engine& engine) {
  return {kMake(op, engine)};
}

}  // namespace onednn
