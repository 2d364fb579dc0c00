// SPDX-License-Identifier: Apache-2.0
// torch.testing.assert_close: |got - expected| <= atol + rtol |expected| for every element; complex numbers by their
// modulus; equal values, infinities included, are close; NaN equals nothing (equal_nan=False, the default).
#include <cmath>
#include <complex>
#include <optional>

#include "harness/tools/power/peers.h"

namespace assay {
namespace {

struct Tolerance {
  double rtol, atol;
};

// The table of defaults in torch/testing/_comparison.py; complex types take their components'. It has none for the
// 8-bit floats.
std::optional<Tolerance> Defaults(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return Tolerance{1e-3, 1e-5};
    case DType::kBF16:
      return Tolerance{1.6e-2, 1e-5};
    case DType::kF32:
    case DType::kC64:
      return Tolerance{1.3e-6, 1e-5};
    case DType::kF64:
    case DType::kC128:
      return Tolerance{1e-7, 1e-7};
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return Tolerance{0, 0};
    default:
      return std::nullopt;
  }
}

template <class T>
bool IsClose(T got, T expected, const Tolerance& tolerance) {
  if (got == expected) return true;
  const double allowed = tolerance.atol + tolerance.rtol * std::abs(expected);
  const double difference = std::abs(got - expected);
  return std::isfinite(allowed) && difference <= allowed;
}

}  // namespace

Opinion TorchOpinion(const PeerRules& peer_case, const Contract&, std::span<const double> got) {
  const std::optional<Tolerance> tolerance = Defaults(peer_case.out());
  if (!tolerance) return Opinion::kNoRule;
  const std::span<const double> expected = peer_case.expected();
  if (!IsComplex(peer_case.out())) {
    for (size_t i = 0; i < got.size(); ++i) {
      if (!IsClose(got[i], expected[i], *tolerance)) return Opinion::kRejects;
    }
    return Opinion::kAccepts;
  }
  for (size_t i = 0; i + 1 < got.size(); i += 2) {
    const std::complex<double> a(got[i], got[i + 1]), b(expected[i], expected[i + 1]);
    if (!IsClose(a, b, *tolerance)) return Opinion::kRejects;
  }
  return Opinion::kAccepts;
}

}  // namespace assay
