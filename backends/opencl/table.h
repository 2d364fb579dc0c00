// SPDX-License-Identifier: Apache-2.0
// What the backend offers, as a table: an algorithm is one row. It sees the device, whose arithmetic decides the
// contract.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backends/opencl/kernel_plan.h"

namespace opencl {

struct Row {
  const char* op;
  const char* name;
  std::string (*contract)(const Traits&, const plugin::OpDesc&);
  std::string (*why_not)(const Traits&, const plugin::OpDesc&);  // the reason against this row; "" when it takes the op
  std::unique_ptr<plugin::Plan> (*create)(Device&, const plugin::OpDesc&);
};

// The rows of one operator; defined beside its kernels.
std::span<const Row> MatmulRows();
std::span<const Row> ReduceRows();
std::span<const Row> SoftmaxRows();
std::span<const Row> AttentionRows();
std::span<const Row> ConvRows();
std::span<const Row> FftRows();

}  // namespace opencl
