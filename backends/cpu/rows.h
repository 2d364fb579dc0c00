// SPDX-License-Identifier: Apache-2.0
// Operators that compute lines: the last axis of the output, from a line of each operand. A kernel is a function of
// lines in the accumulator's type and nothing else; loading, rounding, strides and types are here, once.
//
// A kernel's type has
//   static constexpr int kMath;                            the worst of its functions, in ulp
//   static void IgnoreShapes(const plugin::OpDesc& op);    names the attributes that the shapes tell
//   static std::vector<int> Leads(size_t input, int rank); the output's axes before the last one that an operand has
//   explicit Kernel(const plugin::OpDesc& op);
//   template <class Acc> void Line(const Lines<Acc>& x, std::span<Acc> y) const;
#pragma once

#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "backends/common/host.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/parallel.h"

namespace cpu {

template <class Acc>
using Lines = std::vector<std::span<const Acc>>;

// All leading axes, or none of an operand that is the same for all lines.
inline std::vector<int> AllLeads(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank - 1));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

template <class Kernel, class Acc>
class RowsPlan final : public plugin::HostPlan {
 public:
  explicit RowsPlan(const plugin::OpDesc& op) : kernel_(op), inputs_(op.inputs()), output_(op.outputs()[0]) {
    const int rank = output_.Rank();
    for (size_t i = 0; i < inputs_.size(); ++i) leads_.push_back(Kernel::Leads(i, rank));
    lines_ = output_.Elements() / output_.shape.back();
    double work = static_cast<double>(output_.Elements());
    for (const plugin::Tensor& input : inputs_) work += static_cast<double>(lines_ * input.shape.back());
    threads_ = ThreadsFor(8 * work);
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    const auto rank = static_cast<size_t>(output_.Rank());
    ParallelFor(lines_, threads_, [&](int64_t line, int) {
      std::vector<int64_t> index(rank - 1);
      for (size_t axis = rank - 1; axis-- > 0; line /= output_.shape[axis]) index[axis] = line % output_.shape[axis];
      std::vector<std::vector<Acc>> rows(inputs_.size());
      Lines<Acc> x;
      for (size_t i = 0; i < inputs_.size(); ++i) {
        int64_t offset = 0;
        for (size_t k = 0; k < leads_[i].size(); ++k) {
          offset += index[static_cast<size_t>(leads_[i][k])] * inputs_[i].strides[k];
        }
        rows[i].resize(static_cast<size_t>(inputs_[i].shape.back()));
        Load(inputs_[i].dtype, inputs[i] + offset * plugin::Bytes(inputs_[i].dtype), inputs_[i].strides.back(),
             inputs_[i].shape.back(), rows[i].data());
        x.push_back(rows[i]);
      }
      int64_t offset = 0;
      for (size_t axis = 0; axis + 1 < rank; ++axis) offset += index[axis] * output_.strides[axis];
      std::vector<Acc> y(static_cast<size_t>(output_.shape.back()));
      kernel_.template Line<Acc>(x, y);
      Store(output_.dtype, y.data(), output_.shape.back(), outputs[0] + offset * plugin::Bytes(output_.dtype),
            output_.strides.back());
    });
  }

 private:
  Kernel kernel_;
  std::vector<plugin::Tensor> inputs_;
  plugin::Tensor output_;
  std::vector<std::vector<int>> leads_;
  int64_t lines_ = 1;
  int threads_ = 1;
};

// A kernel's entries in the table of implementations. What has an f64 operand is computed in f64, all else in f32.
template <class Kernel>
struct Rows {
  static bool IsF64(const plugin::OpDesc& op) {
    return !op.AllTypes([](plugin::DType type) { return !(type == plugin::kF64); });
  }
  static std::string WhyNot(const plugin::OpDesc& op) {
    Kernel::IgnoreShapes(op);
    const Kernel read(op);
    if (!op.AllTypes([](plugin::DType type) { return plugin::IsFloat(type); })) {
      return fmt::format("{} computes f64, f32, f16 and bf16, not {}", op.name(), op.DTypesText());
    }
    return op.outputs()[0].Elements() == 0 ? op.name() + " of an empty extent" : "";
  }
  static std::string Contract(const plugin::OpDesc& op) {
    return fmt::format("{};math={};det=yes;batchinv=yes", IsF64(op) ? "f64" : "f32acc", Kernel::kMath);
  }
  static std::unique_ptr<plugin::Plan> Create(plugin::HostDevice&, const plugin::OpDesc& op) {
    if (IsF64(op)) return std::make_unique<RowsPlan<Kernel, double>>(op);
    return std::make_unique<RowsPlan<Kernel, float>>(op);
  }
};

}  // namespace cpu
