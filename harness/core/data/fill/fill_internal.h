// SPDX-License-Identifier: Apache-2.0
// Shared parts of FillTensor. A tensor is filled as a row of values: elements, or the two components of complex
// elements, in memory order; each generator writes any stretch of that row as a function of position alone.
#pragma once

#include <cstdint>
#include <span>

#include "harness/core/data/fill/fill.h"
#include "harness/core/data/fill/rng.h"

namespace assay::internal {

// Independent random streams of one operand; the operand's own stream number keeps the low 32 bits.
enum class Purpose : uint64_t { kValues, kSigns, kChannels, kSpecials };

struct FillJob {
  FillSpec fill;
  uint64_t seed = 0, stream = 0;
  int role = 0;
  DType dtype = DType::kF32;
  bool is_int = false;
  double max_value =
      0;  // largest finite magnitude to write: 127 for i8, for u8 before its offset, and for bool before it is one
  double exact_limit = 0;  // integers up to here are exact in the format
  int components = 1;      // values per element
  int64_t size = 0;        // values
  // The reduced axis: a value's element index is (outer * length + k) * inner + i. Its line is outer * inner + i.
  int64_t length = 1, inner = 1;
  bool each_element = false;  // there is none
  int64_t channels = 1;       // extent of the last axis

  RandomStream Random(Purpose purpose) const {
    return RandomStream(seed, stream | static_cast<uint64_t>(purpose) << 32);
  }
  int64_t lines() const { return size / components / length; }
};

// Offset from a signed integer type's fill to an unsigned one's: half the range.
inline double UnsignedOffset(DType dtype) {
  return dtype == DType::kU8 ? 128 : 0;
}

// Walks over consecutive values without dividing for each.
class Cursor {
 public:
  Cursor(const FillJob& job, int64_t value) : job_(&job), component_(static_cast<int>(value % job.components)) {
    const int64_t element = value / job.components;
    inner_ = element % job.inner;
    k_ = element / job.inner % job.length;
    outer_ = element / job.inner / job.length;
  }
  int component() const { return component_; }
  int64_t k() const { return k_; }
  int64_t line() const { return outer_ * job_->inner + inner_; }
  void Next() {
    if (++component_ < job_->components) return;
    component_ = 0;
    if (++inner_ < job_->inner) return;
    inner_ = 0;
    if (++k_ < job_->length) return;
    k_ = 0;
    ++outer_;
  }

 private:
  const FillJob* job_;
  int component_;
  int64_t inner_, k_, outer_;
};

inline constexpr int64_t kFillChunk = 4096;  // values; an even number, so that no complex element is split

// Writes values [first, first + out.size()), at most kFillChunk, before clamping to max_value and rounding.
using Generator = void (*)(const FillJob& job, int64_t first, std::span<double> out);

void GenerateUniform(const FillJob& job, int64_t first, std::span<double> out);
void GenerateNormal(const FillJob& job, int64_t first, std::span<double> out);
void GenerateLognormal(const FillJob& job, int64_t first, std::span<double> out);
void GenerateOutlier(const FillJob& job, int64_t first, std::span<double> out);
void GenerateSubnormal(const FillJob& job, int64_t first, std::span<double> out);
void GeneratePow2(const FillJob& job, int64_t first, std::span<double> out);
void GenerateCancel(const FillJob& job, int64_t first, std::span<double> out);
void GenerateRamp(const FillJob& job, int64_t first, std::span<double> out);
void GenerateCoded(const FillJob& job, int64_t first, std::span<double> out);
void GenerateNearOne(const FillJob& job, int64_t first, std::span<double> out);
void GenerateMasked(const FillJob& job, int64_t first, std::span<double> out);
void GenerateTies(const FillJob& job, int64_t first, std::span<double> out);
void GenerateLarge(const FillJob& job, int64_t first, std::span<double> out);
void GenerateNegative(const FillJob& job, int64_t first, std::span<double> out);
void GenerateRepeated(const FillJob& job, int64_t first, std::span<double> out);
void GenerateOffset(const FillJob& job, int64_t first, std::span<double> out);
void GenerateExtremes(const FillJob& job, int64_t first, std::span<double> out);
void GenerateTosa(const FillJob& job, int64_t first, std::span<double> out);

// TOSA's pseudo-random sequence set_data(number): r_{n+1} = r_n m + 1 with m = (8 number + 1) 0x705A5E75, r_0 = 1, as
// sign and 31-bit magnitude in [-1, 1]. Its first value is that of r_1.
class TosaSequence {
 public:
  TosaSequence(uint32_t number, uint64_t first);  // starts at value `first`, from 0
  double Next();
  uint32_t state() const { return state_; }  // r of the next value

 private:
  uint32_t multiplier_, state_ = 1;
};

// Uniform and normal f32 and f64, real or complex, without an intermediate buffer: the values need neither clamping
// nor conversion. False, and nothing is done, for everything else.
bool FillInPlace(const FillJob& job, Tensor& out);

// To [-limit, limit].
void ClampValues(double* values, int64_t n, double limit);

// Plants special values in a tensor that has been filled.
void PlantSpecials(const FillJob& job, Tensor& out);
void PlantEdges(const FillJob& job, Tensor& out);

// The places of a line that kernels treat apart: where it begins, its middle, its end, and where the last block of 16
// begins, which is a tail for most lengths.
enum class Place : uint8_t { kFirst, kMiddle, kLast, kTail };
inline constexpr int kPlaces = 4;
int64_t IndexOf(Place place, int64_t length);

}  // namespace assay::internal
