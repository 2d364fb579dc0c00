// SPDX-License-Identifier: Apache-2.0
// The terms of the sums that attention forms for one element of its output.
#include <algorithm>

#include "ops/attention/attention.h"

namespace assay {

std::vector<std::vector<double>> AttentionTerms(const Problem& problem, std::span<const Tensor> inputs,
                                                int64_t output) {
  const AttentionArgs op(problem);
  const AttentionData data(op, inputs, AttentionData::For::kTerms);
  const int64_t query = output / op.dv, head = op.KeyHead(query);
  const AttentionRow row = ComputeRow(op, data, query);
  if (row.keys.empty() || row.p.size() != row.keys.size()) return {};
  const auto likeliest = std::ranges::max_element(row.p) - row.p.begin();
  std::vector<double> products, values;
  for (int64_t c = 0; c < op.d; ++c) {
    products.push_back(data.q[query * op.d + c] * data.K(head, c)[row.keys[likeliest]]);
  }
  for (size_t j = 0; j < row.keys.size(); ++j) {
    values.push_back(row.p[j] * data.v[(head * op.s + row.keys[j]) * op.dv + output % op.dv]);
  }
  return {std::move(products), row.p, std::move(values)};
}

}  // namespace assay
