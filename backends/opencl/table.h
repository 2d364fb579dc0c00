// SPDX-License-Identifier: Apache-2.0
// The implementations of the backend, one row each. A row sees the device, whose arithmetic decides the contract.
#pragma once

#include <span>

#include "backends/common/table.h"
#include "backends/opencl/kernel_plan.h"

namespace opencl {

using Row = plugin::Row<Device, Traits>;

// The rows of one operator; defined beside its kernels.
std::span<const Row> MatmulRows();
std::span<const Row> ReduceRows();
std::span<const Row> SoftmaxRows();
std::span<const Row> AttentionRows();
std::span<const Row> ConvRows();
std::span<const Row> FftRows();
std::span<const Row> PointRows();
std::span<const Row> LineRows();
std::span<const Row> CodeRows();
std::span<const Row> PoolingRows();
std::span<const Row> RopeRows();

}  // namespace opencl
