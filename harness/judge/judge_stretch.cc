// SPDX-License-Identifier: Apache-2.0
// ElementJudge's numbers of many elements at a time: the same operations in the same order as of a single one.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "harness/core/base/multiversion.h"
#include "harness/judge/judge.h"

namespace assay {
namespace {

constexpr size_t kBlock = 512;  // stays in the first-level cache
using Block = std::array<double, kBlock>;

// A term whose plane is zero is none, also where its coefficient is infinite.
ASSAY_MULTIVERSION void AddTerm(double coefficient, const double* __restrict plane, double* __restrict sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += plane[i] != 0 ? coefficient * plane[i] : 0.0;
}

ASSAY_MULTIVERSION void AddSquares(double coefficient, const double* __restrict plane, double* __restrict sum,
                                   int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double deviation = coefficient * plane[i];
    sum[i] += deviation * deviation;
  }
}

ASSAY_MULTIVERSION void RaiseToFloor(double floor, const double* __restrict magnitude, const double* __restrict value,
                                     double* __restrict sigma, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double least = floor * (magnitude[i] + std::fabs(value[i]));
    sigma[i] = sigma[i] < least ? least : sigma[i];
  }
}

ASSAY_MULTIVERSION void Scale(double factor, double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

ASSAY_MULTIVERSION void Square(double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= x[i];
}

ASSAY_MULTIVERSION void Root(double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = std::sqrt(x[i]);
}

ASSAY_MULTIVERSION void Shift(double constant, double of_value, const double* __restrict value, double* __restrict to,
                              int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = constant + of_value * std::fabs(value[i]);
}

template <class Body>
void ForEachBlock(int64_t first, size_t count, const Body& body) {
  for (size_t at = 0; at < count; at += kBlock) {
    body(first + static_cast<int64_t>(at), at, std::min(kBlock, count - at));
  }
}

}  // namespace

// One of the places that evaluate A, see ElementJudge::Accumulated.
void ElementJudge::ReadAccumulated(int64_t first, std::span<double> accumulated) const {
  if (params_.exact) return std::fill(accumulated.begin(), accumulated.end(), 0.0);
  Block plane;
  ForEachBlock(first, accumulated.size(), [&](int64_t from, size_t at, size_t count) {
    const std::span<double> sum = accumulated.subspan(at, count);
    ReadPlane(golden_->error, from, golden_->size(), sum);
    for (double& x : sum) x = params_.constant + x;
    for (const BoundTerm& term : bound_->terms) {
      if (term.coefficient == 0) continue;
      ReadPlane(*term.plane, from, golden_->size(), std::span(plane).first(count));
      AddTerm(term.coefficient, plane.data(), sum.data(), std::ssize(sum));
    }
  });
}

void ElementJudge::ReadStatistic(int64_t first, std::span<double> sigma, std::span<double> systematic) const {
  Block plane;
  ForEachBlock(first, sigma.size(), [&](int64_t from, size_t at, size_t count) {
    const auto n = static_cast<int64_t>(count);
    const double* const value = golden_->value.data() + from;
    double *const deviation = sigma.data() + at, *const shift = systematic.data() + at;
    const auto read = [&](const Plane& of) {
      ReadPlane(of, from, golden_->size(), std::span(plane).first(count));
      return plane.data();
    };
    ReadPlane(golden_->sigma, from, golden_->size(), sigma.subspan(at, count));
    Scale(params_.u_acc, deviation, n);
    if (params_.sigma_floor > 0) RaiseToFloor(params_.sigma_floor, read(golden_->magnitude), value, deviation, n);
    const StatisticModel& model = bound_->statistic;
    if (!model.deviations.empty()) {
      Square(deviation, n);
      for (const BoundTerm& term : model.deviations) AddSquares(term.coefficient, read(*term.plane), deviation, n);
      Root(deviation, n);
    }
    Shift(params_.shift, params_.shift_of_value, value, shift, n);
    if (params_.shift_of_magnitude > 0) AddTerm(params_.shift_of_magnitude, read(golden_->magnitude), shift, n);
    if (params_.shift_of_sigma > 0) AddTerm(params_.shift_of_sigma, deviation, shift, n);
    for (const BoundTerm& term : model.systematic) {
      if (term.coefficient != 0) AddTerm(term.coefficient, read(*term.plane), shift, n);
    }
  });
}

}  // namespace assay
