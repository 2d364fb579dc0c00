// SPDX-License-Identifier: Apache-2.0
// softmax and log-softmax for f64, f32, f16, bf16. A row of nothing but -inf gives NaN, by the formula.
#pragma once

#include <memory>
#include <string>

#include "backends/common/host.h"

namespace cpu {

enum class SoftmaxForm {
  kDirect,  // three passes: maximum, sum of exponentials, division
  kOnline,  // maximum and sum in one pass; the sum is rescaled when the maximum grows
};

std::string SoftmaxWhyNot(const plugin::OpDesc& op);
std::string SoftmaxContract(const plugin::OpDesc& op);
std::unique_ptr<plugin::Plan> CreateSoftmaxPlan(const plugin::OpDesc& op, SoftmaxForm form);

template <SoftmaxForm kForm>
std::unique_ptr<plugin::Plan> CreateSoftmax(plugin::HostDevice&, const plugin::OpDesc& op) {
  return CreateSoftmaxPlan(op, kForm);
}

}  // namespace cpu
