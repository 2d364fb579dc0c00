// SPDX-License-Identifier: Apache-2.0
// The angle is reduced in integers to [0, pi/4], where the Taylor series of sine and cosine end before 2^-113:
// (pi/4)^29 / 29! < 2^-113. Roundings of the last Horner steps dominate: a few 2^-105.
#include "golden/dd/inverse_factorial.h"
#include "golden/fft/fft_transform.h"
#include "harness/core/base/check.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

constexpr DD kQuarterPi = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};

// 1/first! - t/(first+2)! + t^2/(first+4)! - ..., t = x^2.
DD AlternatingSeries(DD t, int first) {
  const int last = first % 2 == 0 ? kMaxInverseFactorial : kMaxInverseFactorial - 1;
  DD sum = InverseFactorial(last);
  for (int k = last - 2; k >= first; k -= 2) sum = InverseFactorial(k) - sum * t;
  return sum;
}

// e^(i (pi/4) numerator / n), 0 <= numerator <= n.
UnitRoot FirstOctant(int64_t numerator, int64_t n) {
  if (numerator == 0) return {{1, 0}, {0, 0}};
  const auto a = static_cast<double>(numerator), b = static_cast<double>(n);
  const double q = a / b;
  const DD x = DD{q, std::fma(-q, b, a) / b} * kQuarterPi;
  const DD t = x * x;
  return {-(t * AlternatingSeries(t, 2)) + 1.0, x - x * t * AlternatingSeries(t, 3)};
}

// The angle of j/n turns as `quarters` of a turn plus (or, `mirrored`, minus) numerator/n eighths of a turn.
struct Reduced {
  int64_t quarters, numerator;
  bool mirrored;
};

Reduced Reduce(int64_t j, int64_t n) {
  const int64_t eighths = 8 * (((j % n) + n) % n);
  const int64_t octant = eighths / n, rest = eighths % n;
  if (octant % 2 == 0) return {octant / 2, rest, false};
  return {(octant + 1) / 2, n - rest, true};
}

UnitRoot Unreduce(UnitRoot root, const Reduced& reduced) {
  if (reduced.mirrored) root.im = -root.im;
  for (int64_t quarter = 0; quarter < reduced.quarters; ++quarter) root = {-root.im, root.re};
  return root;
}

}  // namespace

std::vector<UnitRoot> ConjugateRoots(int64_t n) {
  ASSAY_CHECK(n >= 1 && n < (int64_t{1} << 48));
  constexpr int64_t kGrain = 1024;
  std::vector<UnitRoot> roots(static_cast<size_t>(n));
  // Where n is a multiple of 8, every numerator is one of n/8 + 1 multiples of 8.
  const bool shared = n % 8 == 0;
  std::vector<UnitRoot> octant(shared ? static_cast<size_t>(n / 8 + 1) : 0);
  ParallelFor(static_cast<int64_t>(octant.size()), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) octant[i] = FirstOctant(8 * i, n);
  });
  ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const Reduced reduced = Reduce(-j, n);
      roots[j] = Unreduce(shared ? octant[reduced.numerator / 8] : FirstOctant(reduced.numerator, n), reduced);
    }
  });
  return roots;
}

}  // namespace assay
