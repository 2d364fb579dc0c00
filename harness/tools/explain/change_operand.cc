// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "harness/tools/explain/case_change.h"
#include "harness/tools/explain/extents.h"
#include "harness/tools/explain/mask_change.h"
#include "harness/tools/explain/padding_change.h"
#include "harness/tools/explain/table_change.h"

namespace assay {
namespace {

// Copies each element `to` from the element source(to) of the tensor.
template <class Source>
Tensor Moved(const Tensor& tensor, const Source& source) {
  Tensor moved(tensor.dtype(), tensor.shape());
  const auto size = static_cast<size_t>(SizeOf(tensor.dtype()));
  for (int64_t to = 0; to < tensor.size(); ++to) {
    std::memcpy(moved.data() + static_cast<size_t>(to) * size, tensor.data() + static_cast<size_t>(source(to)) * size,
                size);
  }
  return moved;
}

// Each element comes from place(i, extent) instead of i along the axis.
template <class Place>
Tensor MovedAlong(const Tensor& tensor, size_t axis, const Place& place) {
  const bool is_flat = axis == kAllAxes;
  const int64_t extent = is_flat ? tensor.size() : tensor.shape()[axis];
  const int64_t stride = is_flat ? 1 : RowMajorStrides(tensor.shape())[axis];
  return Moved(tensor, [&](int64_t to) {
    const int64_t i = to / stride % extent;
    return to + (place(i, extent) - i) * stride;
  });
}

Tensor Filled(const Tensor& tensor, double factor, double addend) {
  std::vector<double> values = tensor.ToDoubles();
  for (double& value : values) value = (factor == 0 ? 0 : factor * value) + addend;
  Tensor filled(tensor.dtype(), tensor.shape());
  filled.SetDoubles(values);
  return filled;
}

// The change sees the parts of complex numbers one after the other.
template <class Change>
Tensor WithValues(const Tensor& tensor, const Change& change) {
  std::vector<double> values = tensor.ToDoubles();
  change(values);
  Tensor changed(tensor.dtype(), tensor.shape());
  changed.SetDoubles(values);
  return changed;
}

Tensor RoundedTo(const Tensor& tensor, DType format) {
  return WithValues(tensor, [&](std::vector<double>& values) {
    for (double& value : values) value = RoundTo(FormatOf(format), value);
  });
}

// Precondition: a tensor of i64.
Tensor WithLowHalves(const Tensor& tensor) {
  Tensor changed = tensor.Clone();
  for (int64_t i = 0; i < changed.size(); ++i) {
    std::byte* const at = changed.data() + static_cast<size_t>(i) * sizeof(int64_t);
    int32_t low = 0;  // the first bytes of a little-endian integer
    std::memcpy(&low, at, sizeof low);
    const int64_t value = low;
    std::memcpy(at, &value, sizeof value);
  }
  return changed;
}

// mean - (1 - mean) cos(2 pi i / (n - by)).
Tensor WindowAs(const Tensor& tensor, double mean, int64_t by) {
  const double step = 2 * std::numbers::pi / static_cast<double>(tensor.size() - by);
  return WithValues(tensor, [&](std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = mean - (1 - mean) * std::cos(step * static_cast<double>(i));
  });
}

Tensor InInt8(const Tensor& tensor, size_t axis) {
  const bool is_flat = axis == kAllAxes;
  const int64_t extent = is_flat ? tensor.size() : tensor.shape()[axis];
  const int64_t stride = is_flat ? 1 : RowMajorStrides(tensor.shape())[axis];
  return WithValues(tensor, [&](std::vector<double>& values) {
    for (int64_t first = 0; first < std::ssize(values); ++first) {
      if (first / stride % extent != 0) continue;
      const auto each = [&](const auto& visit) {
        for (int64_t i = 0; i < extent; ++i) visit(values[static_cast<size_t>(first + i * stride)]);
      };
      double largest = 0;
      each([&](double& value) { largest = std::max(largest, std::fabs(value)); });
      if (!(largest > 0) || !std::isfinite(largest)) continue;
      each([&](double& value) { value = std::nearbyint(value / largest * 127) * largest / 127; });
    }
  });
}

Tensor ScaledTerms(const Tensor& tensor, const CaseChange& change) {
  const int64_t inner = change.alone ? ExtentFrom(tensor.shape(), change.axis + 1) : 1;
  const int64_t extent = change.alone ? tensor.shape()[change.axis] : ExtentFrom(tensor.shape(), change.axis);
  std::vector<double> values = tensor.ToDoubles();
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t term = i / inner % extent;
    const bool is_changed = change.by > 0 ? term >= extent - change.by : term < -change.by;
    if (is_changed) values[static_cast<size_t>(i)] *= change.kind == OperandChange::kTwice ? 2 : 0;
  }
  Tensor scaled(tensor.dtype(), tensor.shape());
  scaled.SetDoubles(values);
  return scaled;
}

Tensor ChangeOperand(const Tensor& tensor, const CaseChange& change) {
  const Shape& shape = tensor.shape();
  switch (change.kind) {
    case OperandChange::kZeros:
      return Filled(tensor, 0, 0);
    case OperandChange::kOnes:
      return Filled(tensor, 0, 1);
    case OperandChange::kNegated:
      return Filled(tensor, -1, 0);
    case OperandChange::kReversed:
      return MovedAlong(tensor, change.axis, [](int64_t i, int64_t extent) { return extent - 1 - i; });
    case OperandChange::kShifted:
      return MovedAlong(tensor, change.axis,
                        [&](int64_t i, int64_t extent) { return (i + change.by + extent) % extent; });
    case OperandChange::kNeighbours:
      return MovedAlong(tensor, change.axis, [](int64_t i, int64_t extent) { return (i ^ 1) < extent ? i ^ 1 : i; });
    case OperandChange::kInterleaved:
      return MovedAlong(tensor, change.axis,
                        [](int64_t i, int64_t extent) { return 2 * (i % (extent / 2)) + i / (extent / 2); });
    case OperandChange::kSplit:
      return MovedAlong(tensor, change.axis, [](int64_t i, int64_t extent) { return i / 2 + i % 2 * (extent / 2); });
    case OperandChange::kWithout:
    case OperandChange::kTwice:
      return ScaledTerms(tensor, change);
    case OperandChange::kDoubled:
      return Filled(tensor, 2, 0);
    case OperandChange::kTurned:
      return Moved(tensor,
                   [n = shape.back() * shape[shape.size() - 2]](int64_t to) { return to - to % n + n - 1 - to % n; });
    case OperandChange::kTransposed:
      return Moved(tensor, [rows = shape[change.axis], columns = ExtentOver(shape, change.axis + 1, change.by),
                            inner = ExtentFrom(shape, change.axis + 1 + static_cast<size_t>(change.by))](int64_t to) {
        const int64_t i = to / inner % (rows * columns);
        return to + (i % columns * rows + i / columns - i) * inner;
      });
    case OperandChange::kHalved:
      return Filled(tensor, 0.5, 0);
    case OperandChange::kFirst:
      return MovedAlong(tensor, change.axis, [](int64_t, int64_t) { return int64_t{0}; });
    case OperandChange::kBitReversed:
      return MovedAlong(tensor, change.axis, ReverseBits);
    case OperandChange::kConjugated:
      return WithValues(tensor, [](std::vector<double>& values) {
        for (size_t i = 1; i < values.size(); i += 2) values[i] = -values[i];
      });
    case OperandChange::kPartsExchanged:
      return WithValues(tensor, [](std::vector<double>& values) {
        for (size_t i = 1; i < values.size(); i += 2) std::swap(values[i - 1], values[i]);
      });
    case OperandChange::kInt8:
      return InInt8(tensor, change.axis);
    case OperandChange::kE4M3:
      return RoundedTo(tensor, DType::kE4M3);
    case OperandChange::kE5M2:
      return RoundedTo(tensor, DType::kE5M2);
    case OperandChange::kLow32:
      return WithLowHalves(tensor);
    case OperandChange::kExponential:
    case OperandChange::kLogarithm:
      return WithValues(tensor, [&](std::vector<double>& values) {
        for (double& x : values) x = change.kind == OperandChange::kExponential ? std::exp(x) : std::log(x);
      });
    case OperandChange::kComplement:
      return Filled(tensor, -1, 1);
    case OperandChange::kHann:
      return WindowAs(tensor, 0.5, change.by);
    case OperandChange::kHamming:
      return WindowAs(tensor, 0.54, change.by);
    case OperandChange::kPaddedByEdge:
    case OperandChange::kPaddedByMirror:
    case OperandChange::kPaddedRound:
    case OperandChange::kPaddedOneSide:
      return PadTensor(tensor, change);
    case OperandChange::kExchanged:
    case OperandChange::kLaterPositions:
    case OperandChange::kOtherBase:
    case OperandChange::kNarrowPositions:
    case OperandChange::kOtherPairs:
    case OperandChange::kTablesShifted:
    case OperandChange::kSeesOneMore:
    case OperandChange::kSeesOneLess:
      break;
  }
  return tensor.Clone();
}

}  // namespace

std::vector<Tensor> ChangeInputs(const std::vector<Tensor>& inputs, const CaseChange& change) {
  if (IsOfTables(change)) return ChangeTables(inputs, change);
  std::vector<Tensor> changed;
  for (const Tensor& input : inputs) changed.push_back(input.Clone());
  if (change.kind == OperandChange::kExchanged) {
    std::swap(changed[change.input], changed[change.other]);
    return changed;
  }
  if (IsOfMask(change)) {
    changed.push_back(MakeMask(inputs, change));
  } else {
    changed[change.input] = ChangeOperand(inputs[change.input], change);
  }
  return changed;
}

}  // namespace assay
