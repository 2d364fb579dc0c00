// SPDX-License-Identifier: Apache-2.0
// Loops over vectors of the tile's numbers, for files that Highway compiles once per instruction set: included after
// hwy/highway.h, inside whose targets everything here lies.
#if defined(ASSAY_ATTENTION_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_ATTENTION_LANES
#undef ASSAY_ATTENTION_LANES
#else
#define ASSAY_ATTENTION_LANES
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Floats = hn::CappedTag<float, 16>;

template <class D>
HWY_INLINE int64_t LanesOf(D d) {
  return static_cast<int64_t>(hn::Lanes(d));
}

// Calls body(first, d, count of vectors) for kMany full vectors, then for one, then for single elements.
template <int kMany, class D, class Body>
HWY_INLINE void ForVectors(D d, int64_t n, const Body& body) {
  const int64_t lanes = LanesOf(d);
  int64_t i = 0;
  for (; i + kMany * lanes <= n; i += kMany * lanes) body(i, d, std::integral_constant<int, kMany>());
  for (; i + lanes <= n; i += lanes) body(i, d, std::integral_constant<int, 1>());
  for (; i < n; ++i) body(i, hn::CappedTag<hn::TFromD<D>, 1>(), std::integral_constant<int, 1>());
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#endif
