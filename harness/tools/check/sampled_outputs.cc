// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/sampled_outputs.h"

#include "harness/engine/cases/value_extremes.h"

namespace assay {

std::optional<SampledPart> DrawSample(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                      std::span<const Tensor> got, const SampleRequest& request) {
  if (NumElements(problem.outputs[0].shape) <= request.elements) return std::nullopt;
  std::vector<ValueExtremes> extremes;
  std::vector<std::vector<int64_t>> wanted;
  for (const Tensor& output : got) {
    const ValueExtremes& found = extremes.emplace_back(FindValueExtremes(output));
    wanted.push_back({found.first, found.last, found.largest});
    if (wanted.size() > request.wanted.size()) continue;
    const std::vector<int64_t>& more = request.wanted[wanted.size() - 1];
    wanted.back().insert(wanted.back().end(), more.begin(), more.end());
  }
  std::optional<DrawnPart> part = DrawPart(op, problem, inputs, wanted, request);
  if (!part) return std::nullopt;
  SampledPart drawn{std::move(part->part), {}, std::move(part->sample)};
  for (size_t k = 0; k < got.size(); ++k) {
    drawn.got.push_back(drawn.part.TakeOutput(got[k], k));
    drawn.sample.unseen += extremes[k].nonfinite - FindValueExtremes(drawn.got[k]).nonfinite;
  }
  return drawn;
}

}  // namespace assay
