// SPDX-License-Identifier: Apache-2.0
// fft for c64, c128 and their real counterparts, any number of axes. Real transforms go through complex ones.
#pragma once

#include <memory>
#include <string>

#include "backends/common/host.h"
#include "backends/cpu/fft_line.h"

namespace cpu {

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

}  // namespace cpu
