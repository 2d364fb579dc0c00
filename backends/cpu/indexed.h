// SPDX-License-Identifier: Apache-2.0
// Rows at places that an operand holds: copied, or added to. A place beyond the axis is an error of the plan, not an
// access to memory that is not the operand's.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "backends/common/host.h"
#include "backends/common/status.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/fold.h"
#include "backends/cpu/matrix.h"
#include "backends/cpu/rows.h"

namespace cpu {

inline std::vector<int64_t> LoadPlaces(const plugin::Tensor& tensor, const std::byte* from, int64_t extent) {
  const std::vector<int64_t> places = LoadMatrix<int64_t>(tensor, from);
  for (const int64_t place : places) {
    if (place < 0 || place >= extent) throw plugin::Failure("place {} lies outside of [0, {})", place, extent);
  }
  return places;
}

// table: [v,d], indices: [n] -> y: [n,d]. Row after row of y; or with kByPlace row after row of the table, each loaded
// once and stored wherever it is asked for.
template <class Acc, bool kByPlace>
class GatherPlan final : public plugin::HostPlan {
 public:
  explicit GatherPlan(const plugin::OpDesc& op) : inputs_(op.inputs()), y_(op.outputs()[0]) {}

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    const plugin::Tensor& table = inputs_[0];
    const std::vector<int64_t> places = LoadPlaces(inputs_[1], inputs[1], table.shape[0]);
    std::vector<size_t> order(places.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (kByPlace) std::ranges::stable_sort(order, {}, [&](size_t i) { return places[i]; });
    std::vector<Acc> row(static_cast<size_t>(table.shape[1]));
    int64_t loaded = -1;
    for (const size_t i : order) {
      const std::byte* from = inputs[0] + RowOffset(table, places[i]);
      if (!kByPlace || places[i] != loaded) {
        Load(table.dtype, from, table.strides.back(), std::ssize(row), row.data());
        loaded = places[i];
      }
      Store(y_.dtype, row.data(), std::ssize(row), outputs[0] + RowOffset(y_, static_cast<int64_t>(i)),
            y_.strides.back());
    }
  }

 private:
  std::vector<plugin::Tensor> inputs_;
  plugin::Tensor y_;
};

// x: [rows,d], indices: [n], updates: [n,d] -> y: [rows,d]. With kUpdatesFirst the updates of a row are added up, from
// the last one on, and then x; else they are added to x one after the other.
template <class Acc, bool kUpdatesFirst>
class ScatterAddPlan final : public plugin::HostPlan {
 public:
  explicit ScatterAddPlan(const plugin::OpDesc& op) : inputs_(op.inputs()), y_(op.outputs()[0]) {}

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    const std::vector<Acc> x = LoadMatrix<Acc>(inputs_[0], inputs[0]), updates = LoadMatrix<Acc>(inputs_[2], inputs[2]);
    const std::vector<int64_t> places = LoadPlaces(inputs_[1], inputs[1], inputs_[0].shape[0]);
    const auto d = static_cast<size_t>(inputs_[0].shape[1]);
    std::vector<Acc> y = x;
    const Add<Acc> add;
    if (kUpdatesFirst) std::ranges::fill(y, Add<Acc>::kIdentity);  // -0 + x is x, whatever zero that is
    for (size_t i = 0; i < places.size(); ++i) {
      const size_t from = kUpdatesFirst ? places.size() - 1 - i : i, to = static_cast<size_t>(places[from]);
      for (size_t k = 0; k < d; ++k) y[to * d + k] = add(y[to * d + k], updates[from * d + k]);
    }
    for (size_t i = 0; kUpdatesFirst && i < y.size(); ++i) y[i] = add(y[i], x[i]);
    StoreMatrix(y_, y, outputs[0]);
  }

 private:
  std::vector<plugin::Tensor> inputs_;
  plugin::Tensor y_;
};

// The functions of Rows, for kernels that do not work by rows. All operands but the second are floats, or all are
// integers.
template <template <class> class Plan>
struct Indexed {
  static constexpr bool kIntegers = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"v", "rows", "n", "d"}); }
  static bool Takes(const plugin::OpDesc& op) {
    const std::vector<plugin::Tensor>& inputs = op.inputs();
    const plugin::DType places = inputs[1].dtype;
    return (places == plugin::kI64 || places == plugin::kI32) && plugin::IsFloat(inputs[0].dtype) &&
           plugin::IsFloat(inputs.back().dtype) == (inputs.size() > 2) && plugin::IsFloat(op.outputs()[0].dtype);
  }
  explicit Indexed(const plugin::OpDesc&) {}
  static std::unique_ptr<plugin::Plan> Create(plugin::HostDevice&, const plugin::OpDesc& op) {
    if (Rows<Indexed>::IsInteger(op)) return std::make_unique<Plan<int64_t>>(op);
    if (Rows<Indexed>::IsF64(op)) return std::make_unique<Plan<double>>(op);
    return std::make_unique<Plan<float>>(op);
  }
};

template <class Acc>
using GatherInOrder = GatherPlan<Acc, false>;
template <class Acc>
using GatherByPlace = GatherPlan<Acc, true>;
template <class Acc>
using ScatterInOrder = ScatterAddPlan<Acc, false>;
template <class Acc>
using ScatterUpdatesFirst = ScatterAddPlan<Acc, true>;

}  // namespace cpu
