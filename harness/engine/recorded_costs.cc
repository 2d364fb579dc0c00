// SPDX-License-Identifier: Apache-2.0
// scripts/recorded_costs.py has written this file.
#include <array>

#include "harness/engine/expected_cost.h"

namespace assay {
namespace {

constexpr std::array kCosts = {
    RecordedCost{"", "cpu", 0.02, 0, 0, 0, 0},
    RecordedCost{"", "onednn", 0.01, 0, 0, 0, 0},
    RecordedCost{"attention", "cpu", 0.01, 0.012, 3.1, 25, 0.01},
    RecordedCost{"attention", "onednn", 0.012, 0.0091, 0, 14, 0.0042},
    RecordedCost{"attention", "opencl", 0.037, 0.026, 2.9, 6.6, 0.0086},
    RecordedCost{"attention", "vulkan", 0.13, 0.064, 19, 0, 0.019},
    RecordedCost{"conv", "cpu", 0.016, 0.0092, 0, 8.4e+02, 0.07},
    RecordedCost{"conv", "onednn", 0.018, 0.04, 0, 5.5e+02, 0.12},
    RecordedCost{"conv", "opencl", 0.011, 0.0065, 23, 2.8e+02, 0.015},
    RecordedCost{"conv", "vulkan", 0.047, 0.023, 0, 9.7e+02, 0.11},
    RecordedCost{"fft", "cpu", 0.059, 0.015, 0, 4.4e+02, 0.006},
    RecordedCost{"fft", "onednn", 8.5e-05, 0.00033, 0, 8.5, 0},
    RecordedCost{"fft", "opencl", 0.054, 0, 7e+02, 7.8e+02, 0.019},
    RecordedCost{"fft", "vulkan", 0.033, 0.028, 0, 1.2e+03, 0.0076},
    RecordedCost{"matmul", "cpu", 0.032, 0.044, 2.2, 29, 0.1},
    RecordedCost{"matmul", "onednn", 0.035, 0.032, 0, 2.6, 0.082},
    RecordedCost{"matmul", "opencl", 0.096, 0.066, 1.7, 11, 0.057},
    RecordedCost{"matmul", "vulkan", 0.21, 0.082, 7.8, 53, 0.33},
    RecordedCost{"reduce", "cpu", 0.04, 0.029, 62, 0, 0.0095},
    RecordedCost{"reduce", "onednn", 0.011, 0.0022, 0, 9.3, 0.024},
    RecordedCost{"reduce", "opencl", 0.039, 0.034, 82, 0, 0.013},
    RecordedCost{"reduce", "vulkan", 0.068, 0, 1e+03, 0, 0.064},
    RecordedCost{"softmax", "cpu", 0.019, 0.021, 5.2e+02, 0, 0.0055},
    RecordedCost{"softmax", "onednn", 0.02, 0.031, 0, 0, 0.0058},
    RecordedCost{"softmax", "opencl", 0.17, 0.033, 7.3e+02, 0, 0.011},
    RecordedCost{"softmax", "vulkan", 0.16, 0.072, 7.8e+02, 66, 0.022},
};

}  // namespace

std::span<const RecordedCost> RecordedCosts() {
  return kCosts;
}

}  // namespace assay
