// SPDX-License-Identifier: Apache-2.0
#include "golden/golden.h"

#include <bit>
#include <cmath>

#ifdef __FAST_MATH__
#error "golden values need IEEE arithmetic: build without -ffast-math"
#endif

namespace assay {
namespace {

float RoundUpToFloat(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) >= value || std::isnan(value)) return nearest;
  if (nearest < 0) return std::nextafter(nearest, 0.0F);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) + 1);  // the next one, as positive floats are ordered
}

}  // namespace

std::string_view Name(Tier tier) {
  return tier == Tier::kFast ? "fast" : "reproducible";
}

void Plane::SetUp(int64_t i, double value) {
  wide_ ? f64_[i] = value : f32_[i] = RoundUpToFloat(value);
}

void Plane::SetRow(int64_t first, std::span<const double> values) {
  const size_t n = values.size();
  if (wide_) {
    for (size_t i = 0; i < n; ++i) f64_[first + i] = values[i];
  } else {
    for (size_t i = 0; i < n; ++i) f32_[first + i] = static_cast<float>(values[i]);
  }
}

// The branch-free form of rounding up: 2^-52 covers the product's own rounding, 2^-23 the conversion of a normal
// float, 2^-149 that of a subnormal one. Zero stays zero: an empty sum has an exact result.
void Plane::SetRowUp(int64_t first, std::span<const double> values, double factor) {
  const size_t n = values.size();
  if (wide_) {
    const double up = factor * (1 + 0x1p-51);
    for (size_t i = 0; i < n; ++i) f64_[first + i] = values[i] * up + (values[i] > 0 ? 0x1p-1074 : 0.0);
  } else {
    const double up = factor * (1 + 0x1p-22);
    float* out = f32_.data() + first;
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(values[i] * up + (values[i] > 0 ? 0x1p-149 : 0.0));
  }
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
