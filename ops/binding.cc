// SPDX-License-Identifier: Apache-2.0
#include "ops/binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>

#include "golden/value_range.h"
#include "harness/core/base/check.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/fill.h"
#include "harness/core/data/fill/rng.h"
#include "harness/core/data/scale_bits.h"

namespace assay {
namespace {

// The largest finite magnitude of `count` elements.
template <int64_t kElements>
double LargestOf(const Tensor& tensor, int64_t first, int64_t count) {
  const int64_t parts = IsComplex(tensor.dtype()) ? 2 : 1;
  std::array<double, 2 * kElements> buffer;
  const std::span values = std::span(buffer).first(static_cast<size_t>(count * parts));
  ToF64(tensor.dtype(), tensor.data() + first * SizeOf(tensor.dtype()), values);
  const ValueRange range = RangeOf(values.data(), count * parts);
  if (range.all_finite) return range.max_abs;
  double largest = 0;
  for (const double x : values) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

}  // namespace

Result<Problem> StartProblem(const CaseSpec& spec, const OpSchema& schema) {
  Result<CaseSpec> canonical = Canonicalise(spec, schema);
  if (!canonical) return tl::unexpected(canonical.error());
  Problem problem;
  problem.spec = *std::move(canonical);
  const AttrReader reader(problem.spec, schema);
  for (const AttrDef& def : schema.attrs) {
    ResolvedAttr attr{.key = def.key, .type = def.type, .s = {}, .list = {}};
    switch (def.type) {
      case AttrType::kInt:
        attr.i = reader.Int(def.key);
        break;
      case AttrType::kFloat:
        // A default that is a word is for the operator to resolve.
        if (reader.Text(def.key) != "auto") attr.f = reader.Float(def.key);
        break;
      case AttrType::kName:
        attr.s = reader.Text(def.key);
        break;
      case AttrType::kDims:
      case AttrType::kAxes:
        attr.list = reader.List(def.key);
        break;
    }
    problem.attrs.push_back(std::move(attr));
  }
  return problem;
}

tl::unexpected<Error> BindError(const Problem& problem, const std::string& message) {
  return UsageError(fmt::format("{}: {}", problem.spec.op, message));
}

const Operand* FindOperand(const std::vector<Operand>& operands, std::string_view name) {
  const auto it = std::ranges::find(operands, name, &Operand::name);
  return it == operands.end() ? nullptr : &*it;
}

const std::string* FindGiven(const AttrList& given, std::string_view key) {
  const auto it = std::ranges::find(given, key, &AttrList::value_type::first);
  return it == given.end() ? nullptr : &it->second;
}

void SetIfAbsent(AttrList& given, const std::string& key, const std::string& value) {
  if (FindGiven(given, key) == nullptr) given.emplace_back(key, value);
}

namespace {

// Whether no index counts the elements; where there are none, those that the other axes would have without extents of
// 0.
bool IsTooLarge(const Shape& shape) {
  double count = 1;
  for (const int64_t extent : shape) count *= static_cast<double>(std::max<int64_t>(extent, 1));
  return count >= (std::ranges::find(shape, 0) == shape.end() ? 0x1p60 : 0x1p62);
}

}  // namespace

std::string ShapeProblem(const Shape& shape) {
  return IsTooLarge(shape) ? fmt::format("shape={} has more elements than can be counted", ShapeText(shape)) : "";
}

std::string SizeProblem(const Problem& problem) {
  std::vector<Operand> operands = problem.inputs;
  operands.insert(operands.end(), problem.outputs.begin(), problem.outputs.end());
  for (const Operand& operand : operands) {
    if (!IsTooLarge(operand.shape)) continue;
    return fmt::format("{} of shape {} has more elements than can be counted", operand.name, ShapeText(operand.shape));
  }
  return "";
}

double CompulsoryBytes(const Problem& problem) {
  // In floating point: an absurd shape, which the host refuses later, must not overflow here.
  const auto bytes = [](const Operand& operand) {
    double count = SizeOf(operand.dtype);
    for (const int64_t extent : operand.shape) count *= static_cast<double>(extent);
    return count;
  };
  double sum = 0;
  for (const Operand& output : problem.outputs) sum += bytes(output);
  for (const Operand& input : problem.inputs) sum += bytes(input);
  return sum;
}

Tensor FillInput(const Problem& problem, int index, int reduced_axis, int role, double terms) {
  Result<FillSpec> fill = ParseFill(problem.spec.fill);
  ASSAY_CHECK(fill.has_value());  // StartProblem has seen it
  fill->terms = terms;
  const Operand& operand = problem.inputs[index];
  Tensor tensor(operand.dtype, operand.shape);
  FillTensor(*fill, problem.spec.seed, static_cast<uint64_t>(index), reduced_axis, role, tensor);
  return tensor;
}

bool NeedsWidePlanes(DType out, double largest) {
  return SizeOf(out) == 8 || largest > FormatOf(DType::kF32).max_finite;
}

double LargestFinite(const Tensor& tensor) {
  constexpr int64_t kElements = 2048;  // that stay in a first-level cache as double
  std::mutex mutex;
  double largest = 0;
  ParallelFor(tensor.size(), kElements, [&](int64_t begin, int64_t end) {
    double of_part = 0;
    for (; begin < end; begin += kElements) {
      of_part = std::max(of_part, LargestOf<kElements>(tensor, begin, std::min(kElements, end - begin)));
    }
    const std::lock_guard lock(mutex);
    largest = std::max(largest, of_part);
  });
  return largest;
}

bool AllFinite(std::span<const double> values) {
  std::atomic<bool> finite = true;
  ParallelFor(std::ssize(values), int64_t{1} << 14, [&](int64_t begin, int64_t end) {
    if (!RangeOf(values.data() + begin, end - begin).all_finite) finite = false;
  });
  return finite;
}

double ValueAt(const Tensor& tensor, int64_t i) {
  // Asked for by the thousand: the commonest type goes without the detour through bulk conversions.
  if (tensor.dtype() == DType::kF32) return reinterpret_cast<const float*>(tensor.data())[i];
  double value = 0;
  ToF64(tensor.dtype(), tensor.data() + i * SizeOf(tensor.dtype()), {&value, 1});
  return value;
}

std::vector<int64_t> SampledTerms(int64_t terms, int64_t output) {
  constexpr uint64_t kSeed = 0x6f6d6974;  // any constant: mutants must not depend on the case's own seed
  std::vector<int64_t> sampled(static_cast<size_t>(std::min(terms, kMostSampledTerms)));
  std::iota(sampled.begin(), sampled.end(), int64_t{0});
  if (terms <= kMostSampledTerms) return sampled;
  std::array<uint64_t, kMostSampledTerms> bits;
  RandomStream(kSeed, static_cast<uint64_t>(output)).FillBits(0, bits);
  for (size_t i = 2; i < kMostSampledTerms; ++i) {
    sampled[i] = 1 + static_cast<int64_t>(internal::ScaleBits(bits[i], static_cast<uint64_t>(terms - 2)));
  }
  sampled[1] = terms - 1;
  std::ranges::sort(sampled);
  sampled.erase(std::unique(sampled.begin(), sampled.end()), sampled.end());
  return sampled;
}

}  // namespace assay
