// SPDX-License-Identifier: Apache-2.0
// Side effects found in the images that came back from a device: bytes written outside the tensor, elements never
// written, inputs changed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/exec/buffers.h"

namespace assay {

struct GuardViolation {
  enum class Where : uint8_t { kBefore, kGap, kAfter };
  Where where = Where::kBefore;
  // Bytes between the tensor and the nearest damaged byte (1: it touches the tensor). In a gap: between element zero
  // and the first damaged byte.
  uint64_t distance = 0;
  uint64_t bytes = 0;  // damaged in this region
  std::string Text(std::string_view operand) const;
};

// At most one entry per region.
std::vector<GuardViolation> CheckGuards(const BufferLayout& layout, std::span<const std::byte> image);

struct ElementReport {
  int64_t count = 0;
  int64_t first = -1;  // row-major index
};

// Elements that still hold the prefill. In one execution alone a correct result can look like this.
ElementReport FindPrefilledElements(const Tensor& output, Prefill prefill);
// Elements that hold the prefill in both executions: they were not written. Precondition: same dtype and shape.
ElementReport FindUnwrittenElements(const Tensor& after_nan, const Tensor& after_sentinel);
ElementReport FindChangedElements(const Tensor& before, const Tensor& after);

// "3 of 4096 elements of y were not written, the first is [0,17]"; "" when there are none.
std::string UnwrittenText(std::string_view operand, const Shape& shape, const ElementReport& report);
std::string ChangedText(std::string_view operand, const Shape& shape, const ElementReport& report);

}  // namespace assay
