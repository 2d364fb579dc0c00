// SPDX-License-Identifier: Apache-2.0
// Tables of capabilities, an operator a line.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "backends/common/backend.h"

namespace plugin {

struct OperatorTypes {
  const char* op;
  std::initializer_list<DType> types;  // of the first operand
  std::string features;
};

// Types of a backend whose own kernels compute every operator in every floating-point type that they know, i8 products
// in i32, and transforms in f32 and f64; without f64 where the device has none.
struct KernelTypes {
  bool f64 = true;
  bool half = true;             // f16 and bf16
  bool integer_reduce = false;  // sums of i8
};
std::vector<Capability> KernelCapabilities(const KernelTypes& types, const std::string& features);

// Operators of a table that have no line yet, in every floating-point type: those that compute lines.
template <class Rows>
void AddOtherOperators(const Rows& rows, const std::string& features, std::vector<Capability>& all) {
  for (const auto& row : rows) {
    const auto is_there = [&](const Capability& line) { return line.op == row.op; };
    if (std::ranges::any_of(all, is_there)) continue;
    for (const DType type : {kF32, kF64, kF16, kBF16}) all.push_back({row.op, type, features});
  }
}

inline std::vector<Capability> CapabilitiesOf(std::initializer_list<OperatorTypes> operators) {
  std::vector<Capability> all;
  for (const OperatorTypes& line : operators) {
    for (const DType type : line.types) all.push_back({line.op, type, line.features});
  }
  return all;
}

}  // namespace plugin
