// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/kernel/tile_reader.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace assay {
namespace {

bool IsNarrowPlane(const Plane& plane, int64_t values) {
  return !plane.wide() && !plane.empty() && plane.size() == values;
}

// Whether the statistic's model needs no other planes than the direct path has.
bool SimpleStatistic(const BoundModel& bound, const Golden& golden) {
  const StatisticModel& s = bound.statistic;
  if (!s.deviations.empty() || !s.systematic.empty()) return false;
  return bound.terms[0].plane == &golden.magnitude || (s.floor == 0 && s.of_magnitude == 0);
}

bool CanReadInPlace(const ElementJudge& judge) {
  const Golden& golden = judge.golden();
  const BoundModel& bound = judge.bound();
  return judge.dtype() == DType::kF32 && !judge.params().exact && golden.value_lo.empty() && bound.terms.size() == 1 &&
         std::isfinite(bound.terms[0].coefficient) && IsNarrowPlane(*bound.terms[0].plane, golden.size()) &&
         IsNarrowPlane(golden.sigma, golden.size()) && IsNarrowPlane(golden.error, golden.size()) &&
         SimpleStatistic(bound, golden);
}

}  // namespace

TileReader::TileReader(const ElementJudge& judge, const Tensor& got)
    : judge_(&judge), tensor_(&got), narrow_(CanReadInPlace(judge)), low_parts_(got.dtype() == DType::kI64) {}

const JudgeTile& TileReader::Read(int64_t first, int64_t count) {
  const Golden& golden = judge_->golden();
  tile_.value = golden.value.data() + first;
  tile_.r2 = squares_.data();
  if (narrow_) {
    tile_.got32 = tensor_->As<float>().data() + first;
    tile_.term32 = judge_->bound().terms[0].plane->f32().data() + first;
    tile_.sigma32 = golden.sigma.f32().data() + first;
    tile_.error32 = golden.error.f32().data() + first;
    return tile_;
  }
  ReadGot(first, count);
  ReadGolden(first, count);
  tile_.got = got_.data();
  tile_.lo = lo_.data();
  tile_.accumulated = accumulated_.data();
  tile_.sigma = sigma_.data();
  tile_.systematic = systematic_.data();
  tile_.error = error_.data();
  tile_.rounding_source = rounding_source_.data();
  return tile_;
}

void TileReader::Prefetch(int64_t i) const {
  if (!narrow_) return;
  const Golden& golden = judge_->golden();
  __builtin_prefetch(golden.value.data() + i);
  __builtin_prefetch(tensor_->As<float>().data() + i);
  __builtin_prefetch(judge_->bound().terms[0].plane->f32().data() + i);
  __builtin_prefetch(golden.sigma.f32().data() + i);
  __builtin_prefetch(golden.error.f32().data() + i);
}

void TileReader::ReadGot(int64_t first, int64_t count) {
  tensor_->Read(first, std::span(got_).first(static_cast<size_t>(count)));
  if (!low_parts_) return;
  const std::span<const int64_t> integers = tensor_->As<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    got_lo_[i] = LowPart(integers[first + i], got_[i]);
  }
}

void TileReader::ReadGolden(int64_t first, int64_t count) {
  const Golden& golden = judge_->golden();
  const auto tile = [count](Buffer& buffer) { return std::span(buffer).first(static_cast<size_t>(count)); };
  judge_->ReadStatistic(first, tile(sigma_), tile(systematic_));
  ReadPlane(golden.error, first, golden.size(), tile(error_));
  judge_->ReadAccumulated(first, tile(accumulated_));
  if (golden.value_lo.empty()) {
    std::fill_n(lo_.data(), count, 0.0);
    std::copy_n(golden.value.data() + first, count, rounding_source_.data());
  } else {
    std::copy_n(golden.value_lo.data() + first, count, lo_.data());
    for (int64_t i = 0; i < count; ++i) rounding_source_[i] = judge_->RoundingSource(first + i);
  }
  if (!low_parts_) return;
  for (int64_t i = 0; i < count; ++i) lo_[i] -= got_lo_[i];
}

}  // namespace assay
