// SPDX-License-Identifier: Apache-2.0
// The table of what this backend offers: one row per implementation. Each operator's rows stand in its own file.
#pragma once

#include <span>
#include <string>

#include "backends/vulkan/contract.h"
#include "backends/vulkan/recipe.h"

namespace vulkan {

struct Row {
  const char* op;
  const char* name;
  std::string (*contract)(const Facts&, const plugin::OpDesc&);
  std::string (*why_not)(const Facts&, const plugin::OpDesc&);  // "" when this row takes the description
  Recipe (*recipe)(const Facts&, const plugin::OpDesc&);
};

std::span<const Row> MatmulRows();
std::span<const Row> ReduceRows();
std::span<const Row> SoftmaxRows();
std::span<const Row> AttentionRows();
std::span<const Row> ConvRows();
std::span<const Row> FftRows();

}  // namespace vulkan
