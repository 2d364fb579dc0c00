// SPDX-License-Identifier: Apache-2.0
// The weights of a tile's queries (attention_tile.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_weights.cc"
#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_lanes.h"
#include "ops/attention/attention_tile.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x, rounded up, and at least kLeastWeight; zero stays zero.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> UpWeight(D d, hn::Vec<D> x) {
  const auto up = hn::Max(hn::Mul(x, hn::Set(d, 1 + 0x1p-22)), hn::Set(d, double{kLeastWeight}));
  return hn::DemoteTo(hn::Rebind<float, D>(), hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), up));
}

// dot, added and stored: as AttentionRow has them.
template <class D, class V>
HWY_INLINE void StoreWeights(D d, V p, V dot, V added, V stored, const TileWeights::Row& to, int64_t i) {
  const hn::Rebind<float, D> narrow;
  const auto moved = hn::Mul(p, stored);
  hn::StoreU(p, d, to.p + i);
  hn::StoreU(UpWeight(d, p), narrow, to.up + i);
  hn::StoreU(UpWeight(d, hn::Mul(p, dot)), narrow, to.dot + i);
  hn::StoreU(UpWeight(d, hn::Mul(p, added)), narrow, to.added + i);
  hn::StoreU(hn::DemoteTo(narrow, hn::Mul(p, p)), narrow, to.squared + i);
  hn::StoreU(hn::DemoteTo(narrow, hn::Mul(moved, moved)), narrow, to.stored2 + i);
}

void SetWeightsImpl(const AttentionRow& row, int64_t first, int64_t n, const TileWeights::Row& to) {
  ForVectors<1>(Doubles(), n, [&](int64_t i, auto d, auto) HWY_ATTR {
    const auto load = [&](const std::vector<double>& from) HWY_ATTR { return hn::LoadU(d, from.data() + first + i); };
    StoreWeights(d, load(row.p), load(row.dot), load(row.added), load(row.stored), to, i);
  });
}

PlainScores PlainScoresOfImpl(const double* dots, const float* magnitudes, const double* largest_k,
                              const double* fourth_k, int64_t n, double scale, double* t, double* dot) {
  const Doubles d;
  const auto scales = hn::Set(d, scale), positive = hn::Set(d, std::fabs(scale));
  auto score = hn::Set(d, -kInfinity), magnitude = hn::Zero(d), largest = hn::Zero(d), fourth = hn::Zero(d);
  int64_t i = 0;
  for (; i + LanesOf(d) <= n; i += LanesOf(d)) {
    const auto s = hn::Mul(scales, hn::LoadU(d, dots + i)),
               m = hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Doubles>(), magnitudes + i));
    hn::StoreU(s, d, t + i);
    hn::StoreU(hn::Mul(positive, m), d, dot + i);
    score = hn::Max(score, s), magnitude = hn::Max(magnitude, m);
    largest = hn::Max(largest, hn::LoadU(d, largest_k + i)), fourth = hn::Max(fourth, hn::LoadU(d, fourth_k + i));
  }
  const auto most = [&](auto lanes) HWY_ATTR { return hn::GetLane(hn::MaxOfLanes(d, lanes)); };
  PlainScores of{most(score), most(magnitude), most(largest), most(fourth)};
  for (; i < n; ++i) {
    t[i] = scale * dots[i], dot[i] = std::fabs(scale) * magnitudes[i];
    of.score = std::max(of.score, t[i]), of.magnitude = std::max<double>(of.magnitude, magnitudes[i]);
    of.largest_k = std::max(of.largest_k, largest_k[i]), of.fourth_k = std::max(of.fourth_k, fourth_k[i]);
  }
  return of;
}

int64_t SubtractLargestImpl(double score, double mask, double* t, double* added, double* stored, int64_t n) {
  int64_t far = 0;
  ForVectors<1>(Doubles(), n, [&](int64_t i, auto d, auto) HWY_ATTR {
    const auto s = hn::LoadU(d, t + i), m = hn::LoadU(d, added + i), size = hn::Abs(m);
    const auto below = hn::Add(hn::Sub(s, hn::Set(d, score)), hn::Sub(m, hn::Set(d, mask)));
    const auto capped = hn::IfThenElseZero(hn::Lt(below, hn::Zero(d)), below);
    hn::StoreU(hn::Add(size, hn::Abs(s)), d, stored + i);
    hn::StoreU(hn::Add(size, hn::Abs(capped)), d, added + i);
    hn::StoreU(capped, d, t + i);
    far += static_cast<int64_t>(hn::CountTrue(d, hn::Le(capped, hn::Set(d, -kTail))));
  });
  return far;
}

double NearExponentialsImpl(const double* x, int64_t n, double* e) {
  const Doubles d;
  const auto of = [&](auto tag, int64_t i) HWY_ATTR {
    const auto y = NearExponential(tag, hn::LoadU(tag, x + i));
    hn::StoreU(y, tag, e + i);
    return y;
  };
  constexpr int64_t kLanes = hn::MaxLanes(Doubles()), kVectors = 4;
  hn::Vec<Doubles> sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) sums[v] = hn::Add(sums[v], of(d, i + v * kLanes));
  }
  const auto all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  double total = hn::GetLane(hn::SumOfLanes(d, all));
  for (; i < n; ++i) total += hn::GetLane(of(hn::CappedTag<double, 1>(), i));
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(SetWeightsImpl);
HWY_EXPORT(NearExponentialsImpl);

HWY_EXPORT(PlainScoresOfImpl);
HWY_EXPORT(SubtractLargestImpl);

PlainScores PlainScoresOf(const double* dots, const float* magnitudes, const double* largest_k, const double* fourth_k,
                          int64_t n, double scale, double* t, double* dot) {
  return HWY_DYNAMIC_DISPATCH(PlainScoresOfImpl)(dots, magnitudes, largest_k, fourth_k, n, scale, t, dot);
}

int64_t SubtractLargest(double score, double mask, double* t, double* added, double* stored, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(SubtractLargestImpl)(score, mask, t, added, stored, n);
}

double NearExponentials(const double* x, int64_t n, double* e) {
  return HWY_DYNAMIC_DISPATCH(NearExponentialsImpl)(x, n, e);
}

void TileWeights::Start(int64_t queries, int64_t keys) {
  queries_ = queries, keys_ = keys;
  constexpr int64_t kFloats = 5;
  // More than the keys: rows a power of two apart would share few places of a cache.
  const int64_t stride = keys + 24;
  doubles_.resize(static_cast<size_t>(queries * stride));
  floats_.resize(static_cast<size_t>(queries * kFloats * stride));
  for (int64_t r = 0; r < queries; ++r) {
    float* at = floats_.data() + r * kFloats * stride;
    rows_[r] = {
        doubles_.data() + r * stride, at, at + stride, at + 2 * stride, at + 3 * stride, at + 4 * stride, false};
  }
}

void TileWeights::Set(int64_t query, const AttentionRow& row, int64_t first_key) {
  Row& to = rows_[query];
  const int64_t n = row.masked || row.undefined ? 0 : std::ssize(row.keys);
  if (n < keys_) Clear(to, 0, keys_);
  to.spread = n > 0 && std::ranges::none_of(row.p, [](double p) { return p > kMostOfSpread; });
  for (int64_t i = 0, run = 0; i < n; i += run) {  // keys that follow each other
    const int64_t at = row.keys[i] - first_key;
    run = row.keys[n - 1] - row.keys[i] == n - 1 - i ? n - i : 1;
    while (run < n - i && row.keys[i + run] == row.keys[i] + run) ++run;
    HWY_DYNAMIC_DISPATCH(SetWeightsImpl)
    (row, i, run, {to.p + at, to.up + at, to.squared + at, to.dot + at, to.added + at, to.stored2 + at, false});
  }
}

void TileWeights::Clear(const Row& row, int64_t first, int64_t end) {
  std::fill(row.p + first, row.p + end, 0.0);
  for (float* of : {row.up, row.squared, row.dot, row.added, row.stored2}) std::fill(of + first, of + end, 0.0F);
}

PlainRow TileWeights::SetPlain(int64_t query, const double* dots, const float* magnitudes, int64_t at, int64_t n,
                               double scale, double depth) {
  Row& to = rows_[query];
  const PlainRow row =
      WeighPlainRow(dots, magnitudes, n, scale, depth,
                    {to.p + at, to.up + at, to.squared + at, to.dot + at, to.added + at, to.stored2 + at, false});
  to.spread = row.most <= kMostOfSpread;
  Clear(to, 0, at), Clear(to, at + n, keys_);
  return row;
}

}  // namespace assay
#endif  // HWY_ONCE
