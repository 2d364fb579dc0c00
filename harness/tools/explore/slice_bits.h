// SPDX-License-Identifier: Apache-2.0
// Bits of a few slices of a case that stay as they are while others come beside them: rows of a product, images,
// heads. Where they change with the number of slices, so does the way in which they are computed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "ops/bound_case.h"

namespace assay {

class SliceBits {
 public:
  static constexpr int64_t kSlices = 8;

  // `bound` has kSlices slices along the axis of an extent, and along no other. nullopt: it has none that stand alone.
  static std::optional<SliceBits> Make(const SharedCase& bound);

  // Hash of the results of the first slices among those of `bound`; "" where it cannot be had.
  std::string HashOn(const Device& device, const std::string& implementation, const BoundCase& bound) const;

 private:
  std::vector<Tensor> inputs_;
  size_t axis_ = 0;  // in ListSliceableAxes
};

}  // namespace assay
