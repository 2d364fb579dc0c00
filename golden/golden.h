// SPDX-License-Identifier: Apache-2.0
// A golden value with what judging needs to know about each element. Contract-independent: how far a correct
// implementation may be off follows from these planes and a contract (bound.h).
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "golden/big_buffer.h"
#include "harness/core/data/tensor.h"

namespace assay {

// fast: double arithmetic with its a-priori error; differs in the last bits between machines.
// reproducible: the same bits on every machine and thread count; value + value_lo is far more accurate than double.
enum class Tier : uint8_t { kFast, kReproducible };
std::string_view Name(Tier tier);

// Precondition: value >= 0 or NaN. Without a branch, which would be mispredicted half of the time.
inline float RoundUpToFloat(double value) {
  const float nearest = static_cast<float>(value);
  const uint32_t up = static_cast<double>(nearest) < value ? 1 : 0;  // to the next one, as positive floats are ordered
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) + up);
}

// One non-negative number per element, f32 for outputs of up to 32 bits, f64 otherwise (an f64 case can have
// magnitudes outside f32's range). Magnitude and error planes are rounded up, so that they stay bounds.
class Plane {
 public:
  Plane() = default;
  Plane(int64_t size, bool wide) : wide_(wide) { wide ? f64_.assign(size, 0) : f32_.assign(size, 0); }
  // Left uninitialised, for a caller that sets every element: its threads are then the first to touch the memory.
  static Plane Unset(int64_t size, bool wide);
  bool empty() const { return f32_.empty() && f64_.empty(); }
  bool wide() const { return wide_; }
  int64_t size() const { return static_cast<int64_t>(wide_ ? f64_.size() : f32_.size()); }
  double operator[](int64_t i) const { return wide_ ? f64_[i] : f32_[i]; }
  void Set(int64_t i, double value) { wide_ ? f64_[i] = value : f32_[i] = static_cast<float>(value); }
  // Rounds up to the plane's type. Precondition: value >= 0 or NaN.
  void SetUp(int64_t i, double value) { wide_ ? f64_[i] = value : f32_[i] = RoundUpToFloat(value); }
  void Read(int64_t first, std::span<double> values) const;  // a stretch of the plane
  void SetRow(int64_t first, std::span<const double> values);
  void SetRowUp(int64_t first, std::span<const double> values);                 // each as SetUp does
  void SetRowUp(int64_t first, std::span<const double> values, double factor);  // factor * value, rounded up
  std::span<float> f32() { return f32_; }
  std::span<const float> f32() const { return f32_; }
  std::span<double> f64() { return f64_; }
  std::span<const double> f64() const { return f64_; }

 private:
  bool wide_ = false;
  BigBuffer<float> f32_;
  BigBuffer<double> f64_;
};

// Planes that follow from a golden's own and that several bounds need: computed once as long as one of them holds it.
// What a golden is copied or moved to begins without any, as its planes may change.
class DerivedPlanes {
 public:
  DerivedPlanes() = default;
  DerivedPlanes(const DerivedPlanes&) noexcept {}  // also where it is moved
  DerivedPlanes& operator=(const DerivedPlanes&) noexcept { return planes_.clear(), *this; }
  std::shared_ptr<const Plane> Get(const std::string& name, const std::function<Plane()>& make) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::weak_ptr<const Plane>> planes_;
};

struct Golden {
  Shape shape;
  Tier tier = Tier::kFast;
  bool exact = false;            // integers, selections: value is the result itself, without error
  std::vector<double> value;     // may be NaN or infinite; real operators one per element, complex ones two
  std::vector<double> value_lo;  // reproducible tier: the golden value is value + value_lo; else empty
  Plane magnitude;               // S: sum of |terms|, of the finite terms only
  Plane sigma;                   // standard deviation of the accumulator's rounding error in units of u_acc
  Plane error;                   // E_gold: bound on |value + value_lo - exact|
  std::vector<std::pair<std::string, Plane>> extra;  // an operator's own planes, e.g. "subnormal_mass"
  DerivedPlanes derived;
  const Plane* Extra(std::string_view name) const;  // nullptr when absent
  Plane& AddExtra(std::string name, bool wide);     // one more plane of this golden's size, zero
  int64_t size() const { return static_cast<int64_t>(value.size()); }
};

// sigma's constant: standard deviation of one rounding error relative to u|s| for a log-uniform significand,
// sqrt(0.541 / 3), and the width of its panels (golden/sigma.md).
inline constexpr double kRoundingDeviation = 0.425;
inline constexpr int64_t kSigmaPanel = 64;

}  // namespace assay
