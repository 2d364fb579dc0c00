// SPDX-License-Identifier: Apache-2.0
// The angle is reduced in integers to [0, pi/4], where the Taylor series of sine and cosine end before 2^-113:
// (pi/4)^29 / 29! < 2^-113. Roundings of the last Horner steps dominate: a few 2^-105.
#include "golden/unit_root.h"

#include "harness/base/check.h"
#include "harness/base/parallel.h"

namespace assay {
namespace {

// 1 / k!, k = 2 .. 28.
constexpr DD kInverseFactorial[] = {
    {0x1.0000000000000p-1, 0},
    {0x1.5555555555555p-3, 0x1.5555555555555p-57},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
    {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
    {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
    {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
    {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
    {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
    {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
    {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
    {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
    {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},
    {0x1.ae7f3e733b81fp-45, 0x1.1d8656b0ee8cbp-101},
    {0x1.952c77030ad4ap-49, 0x1.ac981465ddc6cp-103},
    {0x1.6827863b97d97p-53, 0x1.eec01221a8b0bp-107},
    {0x1.2f49b46814157p-57, 0x1.2650f61dbdcb4p-112},
    {0x1.e542ba4020225p-62, 0x1.ea72b4afe3c2fp-120},
    {0x1.71b8ef6dcf572p-66, -0x1.d043ae40c4647p-120},
    {0x1.0ce396db7f853p-70, -0x1.aebcdbd20331cp-124},
    {0x1.761b41316381ap-75, -0x1.3423c7d91404fp-130},
    {0x1.f2cf01972f578p-80, -0x1.9ada5fcc1ab14p-135},
    {0x1.3f3ccdd165fa9p-84, -0x1.58ddadf344487p-139},
    {0x1.88e85fc6a4e5ap-89, -0x1.71c37ebd16540p-143},
    {0x1.d1ab1c2dccea3p-94, 0x1.054d0c78aea14p-149},
    {0x1.0a18a2635085dp-98, 0x1.b9e2e28e1aa54p-153},
};
constexpr DD kQuarterPi = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};

// 1/first! - t/(first+2)! + t^2/(first+4)! - ..., t = x^2.
DD AlternatingSeries(DD t, int first) {
  const int last = first % 2 == 0 ? 28 : 27;
  DD sum = kInverseFactorial[last - 2];
  for (int k = last - 2; k >= first; k -= 2) sum = kInverseFactorial[k - 2] - sum * t;
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

UnitRoot RootOfUnity(int64_t j, int64_t n) {
  ASSAY_CHECK(n >= 1 && n < (int64_t{1} << 48));
  const Reduced reduced = Reduce(j, n);
  return Unreduce(FirstOctant(reduced.numerator, n), reduced);
}

std::vector<UnitRoot> ConjugateRoots(int64_t n) {
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
