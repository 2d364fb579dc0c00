// SPDX-License-Identifier: Apache-2.0
// The table of what this backend offers: one row per implementation. Each operator's rows stand in its own file.
#pragma once

#include <span>

#include "backends/common/table.h"
#include "backends/vulkan/contract.h"
#include "backends/vulkan/recipe.h"

namespace vulkan {

using Row = plugin::BasicRow<Recipe(const Facts&, const plugin::OpDesc&), Facts>;

std::span<const Row> MatmulRows();
std::span<const Row> ReduceRows();
std::span<const Row> SoftmaxRows();
std::span<const Row> AttentionRows();
std::span<const Row> ConvRows();
std::span<const Row> FftRows();

}  // namespace vulkan
