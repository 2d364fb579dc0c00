// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/rows.h"

#include <fmt/format.h>

#include "backends/cpu/elements.h"
#include "backends/cpu/parallel.h"

namespace cpu {
namespace {

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

int64_t LineElements(const plugin::Tensor& tensor, size_t first) {
  int64_t elements = 1;
  for (size_t axis = first; axis < tensor.shape.size(); ++axis) elements *= tensor.shape[axis];
  return elements;
}

template <class Acc>
class RowsPlan final : public plugin::HostPlan {
 public:
  RowsPlan(const plugin::OpDesc& op, std::vector<std::vector<int>> leads, AnyKernel kernel, LineFunction<Acc> line);

 protected:
  void Run(Pointers inputs, Pointers outputs) override;

 private:
  std::vector<Acc> LoadLine(size_t input, const std::vector<int64_t>& index, Pointers inputs) const;
  void StoreLine(const plugin::Tensor& output, const std::vector<int64_t>& index, const std::vector<Acc>& y,
                 std::byte* to) const;

  const AnyKernel kernel_;
  const LineFunction<Acc> line_;
  const std::vector<plugin::Tensor> inputs_, outputs_;
  const std::vector<std::vector<int>> leads_;
  const size_t first_;  // axis of a line
  int64_t lines_ = 1;
  int threads_ = 1;
};

template <class Acc>
RowsPlan<Acc>::RowsPlan(const plugin::OpDesc& op, std::vector<std::vector<int>> leads, AnyKernel kernel,
                        LineFunction<Acc> line)
    : kernel_(std::move(kernel)),
      line_(line),
      inputs_(op.inputs()),
      outputs_(op.outputs()),
      leads_(std::move(leads)),
      first_(outputs_[0].shape.size() - kernel_.line_axes) {
  const plugin::Tensor& y = outputs_[0];
  lines_ = y.Elements() / LineElements(y, first_);
  double work = static_cast<double>(y.Elements());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    work += static_cast<double>(lines_ * LineElements(inputs_[i], leads_[i].size()));
  }
  threads_ = ThreadsFor(8 * work);
}

template <class Acc>
void RowsPlan<Acc>::Run(Pointers inputs, Pointers outputs) {
  ParallelFor(lines_, threads_, [&](int64_t line, int) {
    std::vector<int64_t> index(first_);
    const std::vector<int64_t>& shape = outputs_[0].shape;
    for (size_t axis = first_; axis-- > 0; line /= shape[axis]) index[axis] = line % shape[axis];
    std::vector<std::vector<Acc>> rows(inputs_.size()), lines(outputs_.size());
    Lines<Acc> x;
    for (size_t i = 0; i < inputs_.size(); ++i) x.push_back(rows[i] = LoadLine(i, index, inputs));
    Results<Acc> y;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      lines[k].resize(static_cast<size_t>(LineElements(outputs_[k], first_)));
      y.push_back(lines[k]);
    }
    line_(kernel_.kernel.get(), x, y);
    for (size_t k = 0; k < outputs_.size(); ++k) StoreLine(outputs_[k], index, lines[k], outputs[k]);
  });
}

template <class Acc>
std::vector<Acc> RowsPlan<Acc>::LoadLine(size_t input, const std::vector<int64_t>& index, Pointers inputs) const {
  const plugin::Tensor& tensor = inputs_[input];
  const std::vector<int>& leads = leads_[input];
  int64_t offset = 0;
  for (size_t k = 0; k < leads.size(); ++k) offset += index[static_cast<size_t>(leads[k])] * tensor.strides[k];
  std::vector<Acc> elements(static_cast<size_t>(LineElements(tensor, leads.size())));
  ForRowsOfLine(tensor, leads.size(), [&](int64_t row, int64_t at, int64_t n) {
    Load(tensor.dtype, inputs[input] + (offset + row) * plugin::Bytes(tensor.dtype),
         tensor.strides.empty() ? 1 : tensor.strides.back(), n, elements.data() + at);
  });
  return elements;
}

template <class Acc>
void RowsPlan<Acc>::StoreLine(const plugin::Tensor& output, const std::vector<int64_t>& index,
                              const std::vector<Acc>& y, std::byte* to) const {
  int64_t offset = 0;
  for (size_t axis = 0; axis < first_; ++axis) offset += index[axis] * output.strides[axis];
  ForRowsOfLine(output, first_, [&](int64_t row, int64_t at, int64_t n) {
    Store(output.dtype, y.data() + at, n, to + (offset + row) * plugin::Bytes(output.dtype),
          output.strides.empty() ? 1 : output.strides.back());
  });
}

}  // namespace

bool HasF64(const plugin::OpDesc& op) {
  return !op.AllTypes([](plugin::DType type) { return !(type == plugin::kF64); });
}

bool IsOfIntegers(const plugin::OpDesc& op) {
  return op.AllTypes(plugin::IsInteger);
}

std::string RowsWhyNot(const plugin::OpDesc& op, bool takes_types, size_t outputs) {
  if (!takes_types) return fmt::format("{} does not compute {}", op.name(), op.DTypesText());
  if (op.outputs().size() != outputs) {
    return fmt::format("{} has {} outputs with these attributes, not {}", op.name(), outputs, op.outputs().size());
  }
  return op.outputs()[0].Elements() == 0 ? op.name() + " of an empty extent" : "";
}

std::string RowsContract(bool is_f64, int math, bool by_place, const char* algorithm) {
  std::string contract =
      fmt::format("{};math={};det=yes;batchinv={}", is_f64 ? "f64" : "f32acc", math, by_place ? "no" : "yes");
  if (algorithm != nullptr) contract += fmt::format(";alg={}", algorithm);
  return contract;
}

std::unique_ptr<plugin::Plan> MakeRows(const plugin::OpDesc& op, AnyKernel kernel, bool is_f64) {
  std::vector<std::vector<int>> leads;
  for (size_t i = 0; i < op.inputs().size(); ++i) leads.push_back(kernel.leads(op, i, op.outputs()[0].Rank()));
  const auto make = [&]<class Acc>(LineFunction<Acc> line) -> std::unique_ptr<plugin::Plan> {
    return std::make_unique<RowsPlan<Acc>>(op, std::move(leads), std::move(kernel), line);
  };
  if (kernel.line_i64 != nullptr && IsOfIntegers(op)) return make(kernel.line_i64);
  return is_f64 ? make(kernel.line_f64) : make(kernel.line_f32);
}

}  // namespace cpu
