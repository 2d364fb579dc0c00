// SPDX-License-Identifier: Apache-2.0
// A sample of outputs that are there: their extreme and first and last non-finite elements are always in it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/engine/cases/sample.h"

namespace assay {

// nullopt as of DrawPart.
struct SampledPart {
  Subproblem part;
  std::vector<Tensor> got;
  OutputSample sample;
};
std::optional<SampledPart> DrawSample(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                      std::span<const Tensor> got, const SampleRequest& request);

}  // namespace assay
