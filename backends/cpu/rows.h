// SPDX-License-Identifier: Apache-2.0
// Operators that compute lines: the last axis or axes of the output, from a line of each operand. A kernel is a
// function of lines in the accumulator's type and nothing else; loading, rounding, strides and types are here, once.
//
// A kernel's type has
//   static constexpr int kMath;                            the worst of its functions, in ulp
//   static constexpr const char* kAlgorithm;               the contract's alg=; else direct
//   static void IgnoreShapes(const plugin::OpDesc& op);    names the attributes that the shapes tell
//   static size_t Outputs(const plugin::OpDesc& op);       how many there are; else one
//   static constexpr int kLineAxes;                        how many of the output's axes a line has; else the last one
//   static std::vector<int> Leads(size_t input, int rank); the output's axes before the line that an operand has, whose
//                                                          own line is what follows, in row-major order; where
//                                                          attributes say which: Leads(op, input, rank)
//   static bool Takes(const plugin::OpDesc& op);           whether it computes these types; else all of float
//   explicit Kernel(const plugin::OpDesc& op);
//   template <class Acc> void Line(const Lines<Acc>& x, std::span<Acc> y) const;
// or, of several outputs, which all have the leading axes of the first,
//   template <class Acc> void Line(const Lines<Acc>& x, const Results<Acc>& y) const;
// All of a line is loaded before anything of it is stored, so that an output may lie in the place of an operand that
// has the same lines.
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
template <class Acc>
using Results = std::vector<std::span<Acc>>;

// All leading axes, or none of an operand that is the same for all lines.
inline std::vector<int> AllLeads(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank - 1));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

template <class Kernel>
constexpr size_t LineAxes() {
  if constexpr (requires { Kernel::kLineAxes; }) {
    return Kernel::kLineAxes;
  } else {
    return 1;
  }
}

// The axes of a tensor from `first` on, as rows of its last one: visit(offset, first element of the line, elements).
template <class Visit>
void ForRowsOfLine(const plugin::Tensor& tensor, size_t first, const Visit& visit) {
  const size_t rank = tensor.shape.size();
  if (first == rank) return visit(int64_t{0}, int64_t{0}, int64_t{1});
  int64_t rows = 1;
  for (size_t axis = first; axis + 1 < rank; ++axis) rows *= tensor.shape[axis];
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0, rest = row;
    for (size_t axis = rank - 1; axis-- > first; rest /= tensor.shape[axis]) {
      offset += rest % tensor.shape[axis] * tensor.strides[axis];
    }
    visit(offset, row * tensor.shape.back(), tensor.shape.back());
  }
}

inline int64_t LineElements(const plugin::Tensor& tensor, size_t first) {
  int64_t elements = 1;
  for (size_t axis = first; axis < tensor.shape.size(); ++axis) elements *= tensor.shape[axis];
  return elements;
}

// How many outputs a kernel has for this description: Kernel::Outputs(op), else one.
template <class Kernel>
size_t OutputsOf(const plugin::OpDesc& op) {
  if constexpr (requires { Kernel::Outputs(op); }) {
    return Kernel::Outputs(op);
  } else {
    return 1;
  }
}

template <class Kernel>
std::vector<int> LeadsOf(const plugin::OpDesc& op, size_t input, int rank) {
  if constexpr (requires { Kernel::Leads(op, input, rank); }) {
    return Kernel::Leads(op, input, rank);
  } else {
    return Kernel::Leads(input, rank);
  }
}

template <class Kernel>
bool TakesTypes(const plugin::OpDesc& op) {
  if constexpr (requires { Kernel::Takes(op); }) {
    return Kernel::Takes(op);
  } else {
    return op.AllTypes([](plugin::DType type) { return plugin::IsFloat(type); });
  }
}

template <class Kernel, class Acc>
class RowsPlan final : public plugin::HostPlan {
 public:
  explicit RowsPlan(const plugin::OpDesc& op) : kernel_(op), inputs_(op.inputs()), outputs_(op.outputs()) {
    const plugin::Tensor& y = outputs_[0];
    const int rank = y.Rank();
    for (size_t i = 0; i < inputs_.size(); ++i) leads_.push_back(LeadsOf<Kernel>(op, i, rank));
    first_ = static_cast<size_t>(rank) - LineAxes<Kernel>();
    lines_ = y.Elements() / LineElements(y, first_);
    double work = static_cast<double>(y.Elements());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      work += static_cast<double>(lines_ * LineElements(inputs_[i], leads_[i].size()));
    }
    threads_ = ThreadsFor(8 * work);
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    ParallelFor(lines_, threads_, [&](int64_t line, int) {
      std::vector<int64_t> index(first_);
      const std::vector<int64_t>& shape = outputs_[0].shape;
      for (size_t axis = first_; axis-- > 0; line /= shape[axis]) index[axis] = line % shape[axis];
      std::vector<std::vector<Acc>> rows(inputs_.size());
      Lines<Acc> x;
      for (size_t i = 0; i < inputs_.size(); ++i) {
        int64_t offset = 0;
        for (size_t k = 0; k < leads_[i].size(); ++k) {
          offset += index[static_cast<size_t>(leads_[i][k])] * inputs_[i].strides[k];
        }
        rows[i].resize(static_cast<size_t>(LineElements(inputs_[i], leads_[i].size())));
        ForRowsOfLine(inputs_[i], leads_[i].size(), [&](int64_t row, int64_t at, int64_t n) {
          Load(inputs_[i].dtype, inputs[i] + (offset + row) * plugin::Bytes(inputs_[i].dtype),
               inputs_[i].strides.empty() ? 1 : inputs_[i].strides.back(), n, rows[i].data() + at);
        });
        x.push_back(rows[i]);
      }
      std::vector<std::vector<Acc>> lines(outputs_.size());
      Results<Acc> y;
      for (size_t k = 0; k < outputs_.size(); ++k) {
        lines[k].resize(static_cast<size_t>(LineElements(outputs_[k], first_)));
        y.push_back(lines[k]);
      }
      if constexpr (requires { kernel_.template Line<Acc>(x, y); }) {
        kernel_.template Line<Acc>(x, y);
      } else {
        kernel_.template Line<Acc>(x, y[0]);
      }
      for (size_t k = 0; k < outputs_.size(); ++k) StoreLine(outputs_[k], index, lines[k], outputs[k]);
    });
  }

 private:
  void StoreLine(const plugin::Tensor& output, const std::vector<int64_t>& index, const std::vector<Acc>& y,
                 std::byte* to) const {
    int64_t offset = 0;
    for (size_t axis = 0; axis < first_; ++axis) offset += index[axis] * output.strides[axis];
    ForRowsOfLine(output, first_, [&](int64_t row, int64_t at, int64_t n) {
      Store(output.dtype, y.data() + at, n, to + (offset + row) * plugin::Bytes(output.dtype), output.strides.back());
    });
  }

  Kernel kernel_;
  std::vector<plugin::Tensor> inputs_, outputs_;
  std::vector<std::vector<int>> leads_;
  size_t first_ = 0;  // axis of a line
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
    if (!TakesTypes<Kernel>(op)) return fmt::format("{} does not compute {}", op.name(), op.DTypesText());
    if (op.outputs().size() != OutputsOf<Kernel>(op)) {
      return fmt::format("{} has {} outputs with these attributes, not {}", op.name(), OutputsOf<Kernel>(op),
                         op.outputs().size());
    }
    return op.outputs()[0].Elements() == 0 ? op.name() + " of an empty extent" : "";
  }
  static std::string Contract(const plugin::OpDesc& op) {
    std::string contract = fmt::format("{};math={};det=yes;batchinv=yes", IsF64(op) ? "f64" : "f32acc", Kernel::kMath);
    if constexpr (requires { Kernel::kAlgorithm; }) contract += fmt::format(";alg={}", Kernel::kAlgorithm);
    return contract;
  }
  static std::unique_ptr<plugin::Plan> Create(plugin::HostDevice&, const plugin::OpDesc& op) {
    if (IsF64(op)) return std::make_unique<RowsPlan<Kernel, double>>(op);
    return std::make_unique<RowsPlan<Kernel, float>>(op);
  }
};

}  // namespace cpu
