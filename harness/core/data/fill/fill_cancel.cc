// SPDX-License-Identifier: Apache-2.0
// cancel-K. Along each line of the reduced axis, with terms k = 0 .. length-1:
//   k < h            role 0: x_k, random sign, magnitude in [1, 2)       role 1: f_k near one
//   h <= k < 2h      role 0: -x_(k-h)                                    role 1: f_(k-h), the same number again
//   2h <= k          role 0: t near S / (K residues), all positive       role 1: f_k near one
// Partners are equal and opposite after rounding as well, and so are their products with role 1, whatever line of it
// they meet: every row of a cancels against every column of b exactly. What is left is the sum of the residues, about
// S / K, where S = 3h is the expected sum of magnitudes. The condition number thus does not hang on the format's
// precision, only on its range: t is at least the smallest normal number (1 for integers), which caps K in the narrow
// formats (at 4096 terms: f16 1e8, e4m3 4e5, i8 4e5). Partners are half a line apart, so that partial sums grow and
// get rounded in every order of summation but one that folds the halves.
// A line of two has no room for a residue: -x + 3/K, or the format's spacing at x where that is more. A line of one
// cannot cancel. Other operands, which are added to the sum: N(0, 1/K^2).
#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/fill_internal.h"

namespace assay::internal {
namespace {

struct CancelPlan {
  int64_t pairs = 0;     // h
  double magnitude = 1;  // x is in magnitude * [1, 2)
  double residue = 1;    // t
};

CancelPlan PlanFor(const FillJob& job) {
  CancelPlan plan;
  plan.magnitude = job.is_int ? 63 : 1;
  const double smallest = job.is_int ? 1 : FormatOf(job.dtype).MinNormal();
  const double condition = job.fill.parameter;
  // A share 1/K of the terms does not cancel: for a small K several residues of ordinary size.
  auto residues =
      static_cast<int64_t>(std::min(static_cast<double>(job.length) / condition, static_cast<double>(job.length)));
  residues = std::max<int64_t>(residues, 1);
  residues += (job.length - residues) % 2;
  if (job.length == 2) residues = 0;
  residues = std::min(residues, job.length);
  plan.pairs = (job.length - residues) / 2;
  const double sum = 3.0 * plan.magnitude * static_cast<double>(plan.pairs);
  if (residues > 0 && plan.pairs > 0)
    plan.residue = sum / (std::max(condition - 1, 0.5) * static_cast<double>(residues));
  if (residues > 0 && plan.pairs == 0) plan.residue = 1.5 * plan.magnitude;
  if (residues == 0) plan.residue = 3.0 * plan.magnitude / condition;
  plan.residue = std::max(plan.residue, smallest);
  return plan;
}

// Partner of x in a line of two. Their sum is the residue, or the format's spacing at x if that is larger.
double FindLonePartner(const FillJob& job, const CancelPlan& plan, double x) {
  if (job.is_int) return -std::nearbyint(x) + std::copysign(plan.residue, x);
  const FloatFormat& format = FormatOf(job.dtype);
  const double stored = RoundTo(format, x);
  return -stored + std::copysign(std::max(plan.residue, UlpAt(format, stored)), x);
}

}  // namespace

void GenerateCancel(const FillJob& job, int64_t first, std::span<double> out) {
  const RandomStream random = job.Random(Purpose::kValues);
  if (job.role > 1) {
    random.FillNormal(static_cast<uint64_t>(first), out);
    for (double& x : out) x /= job.fill.parameter;
    return;
  }
  const CancelPlan plan = PlanFor(job);
  const auto partner_distance = static_cast<uint64_t>(plan.pairs * job.inner * job.components);
  Cursor cursor(job, first);
  for (size_t i = 0; i < out.size(); ++i, cursor.Next()) {
    const bool second = cursor.k() >= plan.pairs && cursor.k() < 2 * plan.pairs;
    const uint64_t value = static_cast<uint64_t>(first) + i - (second ? partner_distance : 0);
    const uint64_t bits = random.Bits(value);
    const double u = static_cast<double>(bits >> 11) * 0x1p-53;
    if (job.role == 1) {
      // A complex factor's imaginary part is small, so that the residue's two parts do not cancel each other.
      const double centre = cursor.component() == 0 ? 1.0 : 0.0;
      out[i] = job.is_int ? 1.0 + static_cast<double>(bits & 1) : centre + 0x1p-4 * (2.0 * u - 1.0);
    } else if (cursor.k() >= 2 * plan.pairs) {
      out[i] = plan.residue * (1.0 + 0.25 * u);
    } else {
      const double x = std::copysign(plan.magnitude * (1.0 + u), bits & 1 ? -1.0 : 1.0);
      out[i] = !second ? x : job.length == 2 ? FindLonePartner(job, plan, x) : -x;
    }
  }
}

}  // namespace assay::internal
