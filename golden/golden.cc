// SPDX-License-Identifier: Apache-2.0
#include "golden/golden.h"

#include <algorithm>
#include <limits>

#include "harness/core/base/multiversion.h"

#ifdef __FAST_MATH__
#error "golden values need IEEE arithmetic: build without -ffast-math"
#endif

namespace assay {
namespace {

// target_clones knows no templates, so the loops are spelt for each type.
ASSAY_MULTIVERSION void Copy(const double* __restrict from, int64_t n, float* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

ASSAY_MULTIVERSION void Copy(const float* __restrict from, int64_t n, double* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

void Copy(const double* from, int64_t n, double* to) {
  std::copy_n(from, n, to);
}

// Rounds up as Plane::SetUp does.
ASSAY_MULTIVERSION void RoundUp(const double* __restrict from, int64_t n, float* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = RoundUpToFloat(from[i]);
}

ASSAY_MULTIVERSION void CopyUp(const double* __restrict from, int64_t n, double up, double least,
                               float* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i] * up + (from[i] > 0 ? least : 0.0));
}

ASSAY_MULTIVERSION void CopyUp(const double* __restrict from, int64_t n, double up, double least,
                               double* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] * up + (from[i] > 0 ? least : 0.0);
}

}  // namespace

std::string_view Name(Tier tier) {
  return tier == Tier::kFast ? "fast" : "reproducible";
}

Plane Plane::Unset(int64_t size, bool wide) {
  Plane plane;
  plane.wide_ = wide;
  wide ? plane.f64_.resize(size) : plane.f32_.resize(size);
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
  // NaN shows elements that the caller forgot to set.
  for (int64_t i = 0; i < size; ++i) plane.Set(i, std::numeric_limits<double>::quiet_NaN());
#endif
  return plane;
}

void Plane::Read(int64_t first, std::span<double> values) const {
  const auto n = std::ssize(values);
  wide_ ? Copy(f64_.data() + first, n, values.data()) : Copy(f32_.data() + first, n, values.data());
}

void Plane::SetRow(int64_t first, std::span<const double> values) {
  const auto n = std::ssize(values);
  wide_ ? Copy(values.data(), n, f64_.data() + first) : Copy(values.data(), n, f32_.data() + first);
}

void Plane::SetRowUp(int64_t first, std::span<const double> values) {
  const auto n = std::ssize(values);
  wide_ ? Copy(values.data(), n, f64_.data() + first) : RoundUp(values.data(), n, f32_.data() + first);
}

// The branch-free form of rounding up: 2^-52 covers the product's own rounding, 2^-23 the conversion of a normal
// float, 2^-149 that of a subnormal one. Zero stays zero: an empty sum has an exact result.
void Plane::SetRowUp(int64_t first, std::span<const double> values, double factor) {
  const auto n = std::ssize(values);
  wide_ ? CopyUp(values.data(), n, factor * (1 + 0x1p-51), 0x1p-1074, f64_.data() + first)
        : CopyUp(values.data(), n, factor * (1 + 0x1p-22), 0x1p-149, f32_.data() + first);
}

std::shared_ptr<const Plane> DerivedPlanes::Get(const std::string& name, const std::function<Plane()>& make) const {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const Plane>& held = planes_[name];
  std::shared_ptr<const Plane> plane = held.lock();
  if (plane == nullptr) held = plane = std::make_shared<const Plane>(make());
  return plane;
}

const Plane* Golden::Extra(std::string_view name) const {
  for (const auto& [key, plane] : extra) {
    if (key == name) return &plane;
  }
  return nullptr;
}

Plane& Golden::AddExtra(std::string name, bool wide) {
  extra.emplace_back(std::move(name), Plane(size(), wide));
  return extra.back().second;
}

}  // namespace assay
