// SPDX-License-Identifier: Apache-2.0
#include "golden/gemm/gemm_operand.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "golden/value_range.h"
#include "harness/core/base/check.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

constexpr int64_t kChunk = 1 << 16;
constexpr int64_t kBlock = 16;  // transposition in blocks that stay in L1

void Transpose(const double* from, int64_t rows, int64_t cols, double* to) {  // to is [rows, cols]
  ParallelFor(rows, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t c0 = 0; c0 < cols; c0 += kBlock) {
      const int64_t c1 = std::min(cols, c0 + kBlock);
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t c = c0; c < c1; ++c) to[r * cols + c] = from[c * rows + r];
      }
    }
  });
}

// Takes the non-finite entries of a chunk out.
std::vector<NonFiniteEntry> ExtractNonFinite(double* values, int64_t begin, int64_t end) {
  std::vector<NonFiniteEntry> found;
  for (int64_t i = begin; i < end; ++i) {
    if (std::isfinite(values[i])) continue;
    found.push_back({i, values[i]});
    values[i] = 0;
  }
  return found;
}

void ScanValues(GemmOperand& operand) {
  std::mutex mutex;
  operand.min_abs = std::numeric_limits<double>::infinity();
  ParallelFor(std::ssize(operand.values), kChunk, [&](int64_t begin, int64_t end) {
    double* values = operand.values.data();
    std::vector<NonFiniteEntry> nonfinite;
    ValueRange range = RangeOf(values + begin, end - begin);
    if (!range.all_finite) {
      nonfinite = ExtractNonFinite(values, begin, end);
      range = RangeOf(values + begin, end - begin);
    }
    const std::lock_guard lock(mutex);
    operand.max_abs = std::max(operand.max_abs, range.max_abs);
    operand.min_abs = std::min(operand.min_abs, range.min_abs);
    operand.nonfinite.insert(operand.nonfinite.end(), nonfinite.begin(), nonfinite.end());
  });
  if (operand.max_abs == 0) operand.min_abs = 0;
  std::sort(operand.nonfinite.begin(), operand.nonfinite.end(),
            [](const NonFiniteEntry& x, const NonFiniteEntry& y) { return x.index < y.index; });
}

// False, and nothing is found, where one of them is infinite or NaN.
bool ScanFloats(GemmOperand& operand) {
  constexpr int64_t kAtOnce = 2048;  // stay in a first-level cache as double
  std::mutex mutex;
  ValueRange all{0, std::numeric_limits<double>::infinity(), true};
  ParallelFor(std::ssize(operand.floats), kAtOnce, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += kAtOnce) {
      double values[kAtOnce];
      const int64_t n = std::min(kAtOnce, end - begin);
      std::copy_n(operand.floats.data() + begin, n, values);
      const ValueRange range = RangeOf(values, n);
      const std::lock_guard lock(mutex);
      all = {std::max(all.max_abs, range.max_abs), std::min(all.min_abs, range.min_abs),
             all.all_finite && range.all_finite};
    }
  });
  if (!all.all_finite) return false;
  operand.max_abs = all.max_abs, operand.min_abs = all.max_abs == 0 ? 0 : all.min_abs;
  return true;
}

void Decode(const Tensor& tensor, BigBuffer<double>& values) {
  values.resize(tensor.size());
  ParallelFor(tensor.size(), kChunk, [&](int64_t begin, int64_t end) {
    ToF64(tensor.dtype(), tensor.data() + begin * SizeOf(tensor.dtype()),
          {values.data() + begin, static_cast<size_t>(end - begin)});
  });
}

void FlagSubnormal(GemmOperand& operand) {
  operand.has_subnormal =
      IsFloat(operand.dtype) && operand.min_abs > 0 && operand.min_abs < FormatOf(operand.dtype).MinNormal();
}

}  // namespace

void GemmOperand::Widen() {
  if (floats.empty()) return;
  values.resize(floats.size());
  std::ranges::copy(floats, values.begin());
  floats = {};
}

GemmOperand LoadOperand(const Tensor& tensor, int64_t batch, int64_t rows, int64_t cols, bool transposed,
                        bool keep_floats) {
  ASSAY_CHECK(tensor.size() == batch * rows * cols && !IsComplex(tensor.dtype()));
  GemmOperand operand{.batch = batch, .rows = rows, .cols = cols, .dtype = tensor.dtype()};
  if (keep_floats && tensor.dtype() == DType::kF32 && !transposed) {
    operand.floats = tensor.As<float>();
    if (ScanFloats(operand)) return FlagSubnormal(operand), operand;
    operand.floats = {};
  }
  Decode(tensor, operand.values);
  if (transposed) {
    BigBuffer<double> stored(tensor.size());
    stored.swap(operand.values);
    for (int64_t i = 0; i < batch; ++i) {
      Transpose(stored.data() + i * rows * cols, rows, cols, operand.values.data() + i * rows * cols);
    }
  }
  ScanValues(operand);
  FlagSubnormal(operand);
  return operand;
}

GemmOperand LoadNumbers(BigBuffer<double> values, int64_t batch, int64_t rows, int64_t cols) {
  ASSAY_CHECK(std::ssize(values) == batch * rows * cols);
  GemmOperand operand{.batch = batch, .rows = rows, .cols = cols};
  operand.values = std::move(values);
  ScanValues(operand);
  return operand;
}

BigBuffer<double> SelectSubnormal(const GemmOperand& operand, bool subnormal) {
  const double limit = FormatOf(operand.dtype).MinNormal();
  BigBuffer<double> selected(operand.values.size());
  for (size_t i = 0; i < selected.size(); ++i) {
    const double x = operand.values[i];
    selected[i] = (std::fabs(x) < limit) == subnormal ? x : 0.0;
  }
  return selected;
}

void AddNonFiniteTerms(const GemmOperand& a, const GemmOperand& b, Golden& golden) {
  const int64_t m = a.rows, k = a.cols, n = b.cols;
  // b with its non-finite entries put back, for the terms in which both factors are non-finite.
  BigBuffer<double> b_values = b.values;
  for (const NonFiniteEntry& entry : b.nonfinite) b_values[entry.index] = entry.value;
  std::vector<bool> a_done(a.nonfinite.empty() ? 0 : a.values.size());
  for (const auto& [index, value] : a.nonfinite) {
    a_done[index] = true;
    const int64_t row = index / k;
    const double* b_row = &b_values[((row / m) * k + index % k) * n];
    for (int64_t j = 0; j < n; ++j) golden.value[row * n + j] += value * b_row[j];
  }
  for (const auto& [index, value] : b.nonfinite) {
    const int64_t batch = index / n / k, kk = index / n % k;
    for (int64_t i = batch * m; i < (batch + 1) * m; ++i) {
      if (!a_done.empty() && a_done[i * k + kk]) continue;
      golden.value[i * n + index % n] += a.values[i * k + kk] * value;
    }
  }
  for (size_t i = 0; i < golden.value.size(); ++i) {
    if (std::isfinite(golden.value[i])) continue;
    if (std::isnan(golden.value[i])) golden.value[i] = std::numeric_limits<double>::quiet_NaN();  // one NaN everywhere
    if (!golden.value_lo.empty()) golden.value_lo[i] = 0;
  }
}

}  // namespace assay
