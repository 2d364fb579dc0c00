// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/kernel/judge_usual.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/judge/kernel/judge_usual.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
// after foreach_target.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What the loop needs of tile and parameters: copies, which the stores of r2 cannot change.
struct UsualTile {
  const double* value;
  const float *got, *term, *sigma, *error;
  float* r2;
  double constant, coefficient, u_out, lambda_out, u_acc, sigma_floor;
  double shift, shift_of_value, shift_of_magnitude, shift_of_sigma;
  double ulp_scale, ulp_floor, tiny, own_scale, round_scale;

  UsualTile(const JudgeTile& t, const JudgeParams& p)
      : value(t.value),
        got(t.got32),
        term(t.term32),
        sigma(t.sigma32),
        error(t.error32),
        r2(t.r2),
        constant(p.constant),
        coefficient(p.coefficient),
        u_out(p.u_out),
        lambda_out(p.lambda_out),
        u_acc(p.u_acc),
        sigma_floor(p.sigma_floor),
        shift(p.shift),
        shift_of_value(p.shift_of_value),
        shift_of_magnitude(p.shift_of_magnitude),
        shift_of_sigma(p.shift_of_sigma),
        ulp_scale(p.ulp_scale),
        ulp_floor(p.ulp_floor),
        tiny(p.ulp_floor / p.ulp_scale),
        own_scale(p.own_scale),
        round_scale(p.ulp_scale * p.round_scale) {}
};

// Elements whose maxima are looked at together; tiles are asked for early, as the general pass does.
constexpr int64_t kTogether = 4 * kJudgeLanes, kTileAhead = 512;
constexpr int64_t kLine = 16;  // f32 elements of a cache line

template <class T>
HWY_INLINE void AskFor(const T* p, int64_t i) {
  const auto address = reinterpret_cast<uintptr_t>(p) + sizeof(T) * static_cast<uintptr_t>(i);
  hwy::Prefetch(reinterpret_cast<const T*>(address));
}

// Elements [i, i + kLine).
HWY_INLINE void AskForLines(const UsualTile& t, int64_t i) {
  AskFor(t.value, i);
  AskFor(t.value, i + kLine / 2);
  AskFor(t.got, i);
  AskFor(t.term, i);
  AskFor(t.sigma, i);
  AskFor(t.error, i);
}

// Covers the roundings of the comparisons: no quotient that is larger is missed, so the largest one depends neither on
// lanes nor on order.
constexpr double kNearly = 1 - 0x1p-48;
// A tile with more looks than this gains nothing here (golden zeros with errors: any of them is looked at).
constexpr int kMostLooks = 64;

// The largest quotients.
struct Quotients {
  double rel = 0, ulp = 0, margin = 0;
  int64_t violations = 0;
  int looks = 0;

  void Look(const UsualTile& t, int64_t i) {
    const double value = t.value[i], y = std::fabs(value);
    const double abs = std::fabs(static_cast<double>(t.got[i]) - value);
    if (!(abs > 0)) return;
    const double accumulated =
        (t.constant + static_cast<double>(t.error[i])) + t.coefficient * static_cast<double>(t.term[i]);
    const double tolerance = (accumulated + std::max(t.u_out * (y + accumulated), t.lambda_out)) * kJudgeSlack;
    const uint64_t infinity = std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity());
    const auto power = std::bit_cast<double>(std::bit_cast<uint64_t>(value) & infinity);
    const double spacing = std::max(power * t.ulp_scale, t.ulp_floor);
    if (y > 0 && abs > rel * kNearly * y) rel = std::max(rel, abs / y);
    if (abs > ulp * kNearly * spacing) ulp = std::max(ulp, abs / spacing);
    if (abs > margin * kNearly * tolerance) margin = std::max(margin, abs / tolerance);
    violations += abs > tolerance ? 1 : 0;
  }
};

// What an element's error must exceed to be looked at, per |y|, per 2^exponent and per bound. Finite, so that no
// product with zero is NaN.
template <class D>
struct Thresholds {
  hn::Vec<D> rel, power, bound;
  Thresholds(D d, const Quotients& q, double ulp_scale) {
    constexpr double kLargest = std::numeric_limits<double>::max();
    rel = hn::Set(d, std::min(q.rel * kNearly, kLargest));
    power = hn::Set(d, std::min(q.ulp * ulp_scale * kNearly, kLargest));
    bound = hn::Set(d, std::min(q.margin * kNearly, 1.0));  // violations are counted there as well
  }
};

// Whole words where a vector is a single double.
using BoundBits = std::conditional_t<HWY_TARGET == HWY_SCALAR, uint64_t, uint32_t>;

// The accumulators of one vector of lanes, and what the stages of the loop hand on: an element's division is begun one
// vector later than its deviation, its root another one later, so that the long instructions never wait in the queue.
template <class D>
struct UsualSums {
  using V = hn::Vec<D>;
  V e2, y2, power2, sigma2, r2, bias, abs, largest_r2;
  hn::Vec<hn::Repartition<BoundBits, D>> bound;  // the largest, as bits: negative numbers and NaN are larger than all
  V beyond, variance, direction;                 // of the vector before
  V square, square_direction;                    // of the one before that

  template <class F>
  void ForEach(JudgeLanes& lanes, int lane, const F& f) {
    f(e2, &lanes.sum[kSumE2][lane]);
    f(y2, &lanes.sum[kSumY2][lane]);
    f(power2, &lanes.sum[kSumUlp2][lane]);
    f(sigma2, &lanes.sum[kSumSigma2][lane]);
    f(r2, &lanes.sum[kSumR2][lane]);
    f(bias, &lanes.sum[kSumBias][lane]);
    f(abs, &lanes.max[kMaxAbs][lane]);
    f(largest_r2, &lanes.max[kMaxR2][lane]);
  }
};

template <class D>
HWY_INLINE hn::Vec<D> PowerOf(D d, hn::Vec<D> x) {
  return hn::And(x, hn::Set(d, std::numeric_limits<double>::infinity()));
}

// `share` is the quotient of acc.beyond and acc.variance, of the vector at i; `r` the root of acc.square.
template <class D>
HWY_INLINE void EndStages(D, const UsualTile& t, int64_t i, hn::Vec<D> share, hn::Vec<D> r, UsualSums<D>& acc) {
  const hn::Rebind<float, D> narrow;
  acc.bias = hn::Add(acc.bias, hn::Or(r, acc.square_direction));
  const auto r2 = hn::Mul(share, acc.beyond);
  hn::StoreU(hn::DemoteTo(narrow, r2), narrow, t.r2 + i);
  acc.r2 = hn::Add(acc.r2, r2);
  acc.largest_r2 = hn::Max(acc.largest_r2, r2);
  acc.square = r2;
  acc.square_direction = acc.direction;
}

// Adds the vector at i and ends the one at `before`; returns which elements must be looked at.
template <bool kCompare, bool kShifted, class D>
HWY_INLINE hn::Mask<D> UsualStep(D d, const UsualTile& t, const Thresholds<D>& least, int64_t i, int64_t before,
                                 UsualSums<D>& acc, size_t& inexact) {
  const hn::Rebind<float, D> narrow;
  const hn::Repartition<BoundBits, D> bits;
  const auto share = hn::Div(acc.beyond, acc.variance), r = hn::Sqrt(acc.square);
  const auto value = hn::LoadU(d, t.value + i), got = hn::PromoteTo(d, hn::LoadU(narrow, t.got + i));
  const auto error = hn::PromoteTo(d, hn::LoadU(narrow, t.error + i));
  const auto term = hn::PromoteTo(d, hn::LoadU(narrow, t.term + i));
  const auto e = hn::Sub(got, value);
  const auto y = hn::Abs(value), abs = hn::Abs(e);

  // At most the hard bound, which has a slack that covers these roundings.
  const auto output = hn::MulAdd(hn::Set(d, t.u_out), y, hn::Set(d, t.constant));
  const auto bound = hn::Add(hn::MulAdd(hn::Set(d, t.coefficient), term, output), error);
  acc.bound = hn::Max(acc.bound, hn::BitCast(bits, bound));
  const auto power = hn::Max(PowerOf(d, value), hn::Set(d, t.tiny));  // ulp(y) but for a power of two
  const auto quotients = hn::Min(hn::Mul(least.rel, y), hn::Mul(least.power, power));
  const auto look = hn::Gt(abs, hn::Min(quotients, hn::Mul(least.bound, bound)));
  if constexpr (kCompare) {
    const auto c = hn::Mul(power, hn::Set(d, t.round_scale));
    inexact += hn::CountTrue(d, hn::Ne(got, hn::Sub(hn::Add(value, c), c)));
  }

  const auto sampled = hn::Mul(hn::PromoteTo(d, hn::LoadU(narrow, t.sigma + i)), hn::Set(d, t.u_acc));
  const auto sigma = hn::Max(sampled, hn::Mul(hn::Set(d, t.sigma_floor), hn::Add(term, y)));
  const auto sigma2 = hn::Mul(sigma, sigma);
  const auto variance = hn::MulAdd(error, error, sigma2);  // the square of an f32 is exact
  const auto own = hn::Max(power, PowerOf(d, got));
  auto beyond = hn::NegMulAdd(own, hn::Set(d, t.own_scale), abs);  // powers of two: exact as well
  if constexpr (kShifted) {
    const auto constant = hn::Add(hn::Set(d, t.shift), hn::Mul(hn::Set(d, t.shift_of_value), y));
    const auto magnitude = hn::Mul(hn::Set(d, t.shift_of_magnitude), term);
    const auto rest = hn::Add(magnitude, hn::Mul(hn::Set(d, t.shift_of_sigma), sigma));
    beyond = hn::Sub(beyond, hn::Add(constant, rest));
  }
  acc.e2 = hn::Add(acc.e2, hn::Mul(e, e));
  acc.y2 = hn::Add(acc.y2, hn::Mul(value, value));
  acc.power2 = hn::MulAdd(power, power, acc.power2);
  acc.sigma2 = hn::Add(acc.sigma2, sigma2);
  acc.abs = hn::Max(acc.abs, abs);
  EndStages(d, t, before, share, r, acc);
  acc.beyond = hn::Max(hn::Zero(d), beyond);
  acc.variance = variance;
  acc.direction = hn::And(hn::Xor(e, value), hn::Set(d, -0.0));
  return look;
}

// Whether no value, output, bound or deviation was one for other rules. A variance of zero gives a square that is no
// number; |y| + A stays below special_at when neither reaches half of it.
template <class D>
bool AllUsual(D d, const UsualSums<D>& acc, double special_at) {
  const hn::Repartition<int64_t, D> d64;
  const auto high = hn::ShiftRight<32>(hn::BitCast(hn::Repartition<uint64_t, D>(), acc.bound));
  const auto half = static_cast<int64_t>(std::bit_cast<uint64_t>(special_at / 2) >> 32);
  if (!hn::AllTrue(d64, hn::Lt(hn::BitCast(d64, high), hn::Set(d64, half)))) return false;
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  const auto finite = hn::And(hn::Le(acc.e2, largest), hn::Le(acc.r2, largest));
  return hn::AllTrue(d, hn::And(finite, hn::Lt(acc.y2, hn::Set(d, special_at / 4 * (special_at / 4)))));
}

// Elements lane, lane + 8, ... below n, as lanes `lane`, `lane` + 1, ... False: too many looks.
template <bool kCompare, bool kShifted, class D>
bool RunUsual(D d, const UsualTile& t, int64_t n, int lane, Quotients& largest, UsualSums<D>& sums, size_t& inexact) {
  constexpr int64_t kParts = kJudgeLanes / hn::MaxLanes(d);  // each asks for its share of the tile ahead
  sums.bound = hn::Zero(hn::Repartition<BoundBits, D>());
  sums.beyond = sums.direction = sums.square = sums.square_direction = hn::Zero(d);
  sums.variance = hn::Set(d, 1.0);
  int64_t i = lane, before = lane;  // nothing is pending: the first vector ends a zero in its own place
  while (i < n) {
    UsualSums<D> acc = sums;  // in registers, until elements must be looked at
    const Thresholds<D> least(d, largest, t.ulp_scale);
    hn::Mask<D> look;
    int64_t from;
    do {
      from = i;
      const int64_t end = std::min(n, i + kTogether);
      const int64_t ahead = kTileAhead + (i - lane) / kParts + lane * (kTileAhead / kJudgeLanes);
      for (int64_t k = 0; k < kTogether / kParts; k += kLine) AskForLines(t, ahead + k);
      look = UsualStep<kCompare, kShifted>(d, t, least, i, before, acc, inexact);
      for (i += kJudgeLanes; i < end; i += kJudgeLanes) {
        look = hn::Or(look, UsualStep<kCompare, kShifted>(d, t, least, i, i - kJudgeLanes, acc, inexact));
      }
      before = i - kJudgeLanes;
    } while (hn::AllFalse(d, look) && i < n);
    sums = acc;
    if (hn::AllFalse(d, look)) break;
    if (++largest.looks > kMostLooks) return false;
    for (int64_t k = from; k < i; k += kJudgeLanes) {
      for (int64_t at = k; at < k + static_cast<int64_t>(hn::Lanes(d)); ++at) largest.Look(t, at);
    }
  }
  EndStages(d, t, before, hn::Div(sums.beyond, sums.variance), hn::Sqrt(sums.square), sums);
  sums.bias = hn::Add(sums.bias, hn::Or(hn::Sqrt(sums.square), sums.square_direction));
  return true;
}

template <bool kCompare, bool kShifted>
bool RunAllUsual(const JudgeTile& tile, const JudgeParams& p, int64_t n, JudgeLanes& lanes) {
  using D = hn::CappedTag<double, kJudgeLanes>;
  const D d;
  constexpr int kWidth = hn::MaxLanes(d);
  const UsualTile t(tile, p);
  const auto largest_of = [&lanes](JudgeMax k) { return *std::max_element(lanes.max[k].begin(), lanes.max[k].end()); };
  Quotients largest{largest_of(kMaxRel), largest_of(kMaxUlp), largest_of(kMaxMargin)};
  std::array<UsualSums<D>, kJudgeLanes / kWidth> sums;
  const double ulp2 = p.ulp_scale * p.ulp_scale;
  size_t inexact = 0;
  for (int lane = 0; lane < kJudgeLanes; lane += kWidth) {
    UsualSums<D>& s = sums[static_cast<size_t>(lane / kWidth)];
    s.ForEach(lanes, lane, [d](auto& v, const double* from) { v = hn::LoadU(d, from); });
    s.power2 = hn::Mul(s.power2, hn::Set(d, 1 / ulp2));
    if (!RunUsual<kCompare, kShifted>(d, t, n, lane, largest, s, inexact) || !AllUsual(d, s, p.special_at))
      return false;
    s.power2 = hn::Mul(s.power2, hn::Set(d, ulp2));
  }
  for (int lane = 0; lane < kJudgeLanes; lane += kWidth) {
    const auto store = [d](const auto& v, double* to) { hn::StoreU(v, d, to); };
    sums[static_cast<size_t>(lane / kWidth)].ForEach(lanes, lane, store);
  }
  lanes.max[kMaxRel][0] = largest.rel;
  lanes.max[kMaxUlp][0] = largest.ulp;
  lanes.max[kMaxMargin][0] = largest.margin;
  lanes.sum[kInexact][0] += static_cast<double>(inexact);
  lanes.sum[kViolations][0] += static_cast<double>(largest.violations);
  return true;
}

bool Usual(const JudgeTile& t, const JudgeParams& p, int64_t n, bool compare, JudgeLanes& lanes) {
  const bool shifted = p.shift != 0 || p.shift_of_value != 0 || p.shift_of_magnitude != 0 || p.shift_of_sigma != 0;
  if (compare) return shifted ? RunAllUsual<true, true>(t, p, n, lanes) : RunAllUsual<true, false>(t, p, n, lanes);
  return shifted ? RunAllUsual<false, true>(t, p, n, lanes) : RunAllUsual<false, false>(t, p, n, lanes);
}

}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {
namespace {

bool IsPowerOfTwo(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5;
}

// Sums of squares of anything below this are far from the largest double.
constexpr double kModerate = 0x1p200;

}  // namespace

HWY_EXPORT(Usual);

bool MayBeUsual(const JudgeTile& tile, const JudgeParams& p) {
  if (tile.got32 == nullptr || p.exact || p.integer || p.round_scale == 0) return false;
  if (!(p.special_at > 0 && p.special_at < kModerate)) return false;
  if (!(p.constant >= 0 && p.coefficient >= 0 && p.u_out >= 0 && p.lambda_out >= 0)) return false;
  return IsPowerOfTwo(p.ulp_scale) && IsPowerOfTwo(p.own_scale) && IsPowerOfTwo(p.ulp_floor) &&
         p.own_floor / p.own_scale == p.ulp_floor / p.ulp_scale;
}

bool JudgeUsual(const JudgeTile& tile, const JudgeParams& params, int64_t n, JudgeLanes& lanes) {
  const bool compare = std::ranges::all_of(lanes.sum[kInexact], [](double count) { return count == 0; });
  return HWY_DYNAMIC_DISPATCH(Usual)(tile, params, n, compare, lanes);
}

}  // namespace assay
#endif
