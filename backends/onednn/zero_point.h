// SPDX-License-Identifier: Apache-2.0
// Factors and codes of zero as a primitive takes them: f32 and i32, whatever the operands of a case are.
#pragma once

#include <cstring>
#include <optional>

#include "backends/onednn/problem.h"

namespace onednn {

inline float Invert(float x) {
  return 1 / x;
}

inline int32_t CodeAt(plugin::DType type, const std::byte* tensor) {
  if (type == plugin::kI8) return static_cast<int8_t>(*tensor);
  if (type == plugin::kU8) return static_cast<uint8_t>(*tensor);
  int32_t code = 0;
  std::memcpy(&code, tensor, sizeof(code));
  return code;
}

// Hands the primitive the code of zero of an operand, the element of an input of that type or, without one, `code`.
inline void AddZeroPoint(Problem& problem, int operand, std::optional<plugin::DType> type, size_t input, int64_t code) {
  const int argument = DNNL_ARG_ATTR_ZERO_POINTS | operand;
  problem.lent.push_back({argument, Md({1}, dnnl::memory::data_type::s32, dnnl::memory::dims{1})});
  problem.begin = [=](const Arguments& arguments, Problem::Tensors inputs, Problem::Tensors) {
    *static_cast<int32_t*>(arguments.at(argument).get_data_handle()) =
        type ? CodeAt(*type, inputs[input]) : static_cast<int32_t>(code);
  };
}

}  // namespace onednn
