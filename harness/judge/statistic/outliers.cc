// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/outliers.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "harness/core/base/parallel.h"

namespace assay {
namespace {

// Chunks searched before what they have is put together; kMostScanned values or fewer.
constexpr int64_t kOutlierBatch = std::max<int64_t>(1, kMostScanned / kJudgeChunk);

struct Outlier {
  int64_t value = 0;  // index among golden values
  float r = 0;
};

using FoundOutliers = std::vector<std::vector<Outlier>>;  // per chunk

FoundOutliers SearchOutliers(const ElementJudge& judge, const Tensor& got, std::span<const int64_t> chunks) {
  FoundOutliers found(chunks.size());
  ParallelFor(std::ssize(chunks), 1, [&](int64_t begin, int64_t end) {
    TileReader reader(judge, got);
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
      ForEachInChunk(judge, reader, chunks[k], [&](int64_t i, double, const Judgement& judged) {
        const double r = judge.Open(i) ? 0 : judge.Deviation(i, judged);
        if (r > kOutlierLevel) found[k].push_back({i, static_cast<float>(r)});
      });
    }
  });
  return found;
}

void AddOutliers(const FoundOutliers& found, int parts, Outliers& all) {
  for (const auto& chunk : found) {
    all.count += std::ssize(chunk);
    if (all.count > kMostScanned) all.values = std::vector<int64_t>();
    for (const Outlier& outlier : chunk) {
      if (all.count <= kMostScanned) all.values.push_back(outlier.value);
      if (outlier.r > all.worst_r) all.worst = outlier.value, all.worst_r = outlier.r;
      if (static_cast<double>(outlier.r) > kElementThreshold) all.extremes.Add(outlier.value / parts);
    }
  }
}

}  // namespace

Outliers FindOutliers(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks) {
  std::vector<int64_t> searched;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (std::sqrt(chunks[chunk].max[kMaxR2]) > kOutlierLevel) searched.push_back(static_cast<int64_t>(chunk));
  }
  Outliers all(got.shape());
  for (std::span<const int64_t> rest = searched; !rest.empty();) {
    const size_t batch = std::min(rest.size(), static_cast<size_t>(kOutlierBatch));
    AddOutliers(SearchOutliers(judge, got, rest.first(batch)), IsComplex(judge.dtype()) ? 2 : 1, all);
    rest = rest.subspan(batch);
  }
  return all;
}

}  // namespace assay
