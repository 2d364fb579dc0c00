// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backends/common/softmax_spec.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/fold.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/workspace.h"

namespace cpu {
namespace {

using plugin::SoftmaxSpec;

constexpr int64_t kOnlineBlock = 32;

template <class Acc>
struct MaxAndSum {
  Acc max = -std::numeric_limits<Acc>::infinity();
  Acc sum = 0;
};

// The greatest element, NaN where there is one.
template <class Acc>
Acc Greatest(const Acc* x, int64_t n) {
  Acc max = -std::numeric_limits<Acc>::infinity();
  for (int64_t i = 0; i < n; ++i) max = Extreme<Acc, 1>{}(max, x[i]);
  return max;
}

template <class Acc>
MaxAndSum<Acc> Direct(const Acc* x, int64_t n, Acc* e) {
  MaxAndSum<Acc> row{Greatest(x, n), 0};
  for (int64_t i = 0; i < n; ++i) row.sum += e[i] = std::exp(x[i] - row.max);
  return row;
}

// One pass by blocks (Milakov and Gimelshein, arXiv 1805.02867). Blocks of -inf alone leave the sum at zero.
template <class Acc>
MaxAndSum<Acc> Online(const Acc* x, int64_t n) {
  MaxAndSum<Acc> row;
  for (int64_t begin = 0; begin < n; begin += kOnlineBlock) {
    const int64_t count = std::min(kOnlineBlock, n - begin);
    const Acc max = Extreme<Acc, 1>{}(row.max, Greatest(x + begin, count));
    if (max == -std::numeric_limits<Acc>::infinity()) continue;
    row.sum *= std::exp(row.max - max);
    for (int64_t i = begin; i < begin + count; ++i) row.sum += std::exp(x[i] - max);
    row.max = max;
  }
  return row;
}

template <class Acc>
class SoftmaxPlan : public plugin::HostPlan {
 public:
  SoftmaxPlan(SoftmaxSpec spec, SoftmaxForm form) : spec_(std::move(spec)), form_(form) {
    threads_ = ThreadsFor(8.0 * static_cast<double>(spec_.rows) * static_cast<double>(spec_.axis.size));
    rows_.resize(static_cast<size_t>(threads_ * 2 * spec_.axis.size));
  }

  plugin::PlanInfo Info() const override { return {BytesOf(rows_), "", ""}; }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    const int64_t n = spec_.axis.size, bytes = plugin::Bytes(spec_.dtype);
    ParallelFor(spec_.rows, threads_, [&](int64_t index, int slot) {
      const SoftmaxSpec::Offsets at = spec_.OffsetsOf(index);
      Acc* x = rows_.data() + slot * 2 * n;
      Load(spec_.dtype, inputs[0] + at.x * bytes, spec_.axis.x_stride, n, x);
      Row(x, n, x + n);
      Store(spec_.dtype, x + n, n, outputs[0] + at.y * bytes, spec_.axis.y_stride);
    });
  }

 private:
  void Row(const Acc* x, int64_t n, Acc* y) const {
    const bool direct = form_ == SoftmaxForm::kDirect;
    const MaxAndSum<Acc> row = direct ? Direct(x, n, y) : Online(x, n);
    if (spec_.log) {
      const Acc log_sum = std::log(row.sum);
      for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - row.max) - log_sum;
    } else if (direct) {
      for (int64_t i = 0; i < n; ++i) y[i] /= row.sum;
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - row.max) / row.sum;
    }
  }

  const SoftmaxSpec spec_;
  const SoftmaxForm form_;
  int threads_ = 1;
  std::vector<Acc> rows_;  // [threads, 2, n]: x and y
};

}  // namespace

std::string SoftmaxWhyNot(const plugin::OpDesc& op) {
  return plugin::FloatSoftmaxWhyNot(plugin::ParseSoftmax(op), op);
}

// exp and log of glibc, and IEEE division: under 1 ulp.
std::string SoftmaxContract(const plugin::OpDesc& op) {
  return fmt::format("{};math=1;masked=nan;det=yes;batchinv=yes", plugin::ParseSoftmax(op).IsF64() ? "f64" : "f32acc");
}

std::unique_ptr<plugin::Plan> CreateSoftmaxPlan(const plugin::OpDesc& op, SoftmaxForm form) {
  SoftmaxSpec spec = plugin::ParseSoftmax(op);
  if (spec.IsF64()) return std::make_unique<SoftmaxPlan<double>>(std::move(spec), form);
  return std::make_unique<SoftmaxPlan<float>>(std::move(spec), form);
}

}  // namespace cpu
