// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/align/configurations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "harness/tools/align/head_groups.h"
#include "harness/tools/align/indirections.h"
#include "ops/slices.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

constexpr int kCalls = 4;

std::vector<int64_t> CountFrom(int64_t first, int64_t n) {
  std::vector<int64_t> indices(static_cast<size_t>(n));
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

std::vector<int64_t> Backwards(int64_t extent) {
  std::vector<int64_t> indices = CountFrom(0, extent);
  std::ranges::reverse(indices);
  return indices;
}

// Backwards, begun elsewhere, and every second, third and so on first: sums of one of them have the bits of a single
// row often, of all of them rarely.
std::vector<std::vector<int64_t>> OrdersOf(int64_t extent) {
  std::vector<std::vector<int64_t>> orders = {Backwards(extent)};
  for (const int64_t n : {2, 3, 5, 7}) {
    orders.push_back(CountFrom(0, extent));
    std::ranges::rotate(orders.back(), orders.back().begin() + extent / n);
    orders.push_back(CountFrom(0, extent));
    std::ranges::stable_sort(orders.back(), {}, [n](int64_t i) { return i % n; });
  }
  return orders;
}

// The attribute that counts the slices; "slices" where it is an extent in a list.
std::string CountOf(const Problem& whole, const Problem& part) {
  const std::string key = ChangedAttribute(whole, part);
  const auto at = std::ranges::find(part.spec.attrs, key, &AttrList::value_type::first);
  const bool is_number = at != part.spec.attrs.end() && at->second.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? key : "slices";
}

Tensor TakeAxis(const Tensor& tensor, int64_t axis, const std::vector<int64_t>& indices) {
  return axis < 0 ? tensor.Clone() : TakeAlong(tensor, axis, indices);
}

std::vector<Tensor> TakeInputs(const std::vector<Tensor>& whole, const std::vector<int64_t>& axes,
                               const std::vector<int64_t>& indices) {
  std::vector<Tensor> taken;
  for (size_t i = 0; i < whole.size(); ++i) taken.push_back(TakeAxis(whole[i], axes[i], indices));
  return taken;
}

// All zeros but for these slices.
std::vector<Tensor> KeepSlices(const std::vector<Tensor>& whole, const SliceCut& cut,
                               const std::vector<int64_t>& kept) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < whole.size(); ++i) {
    const int64_t axis = cut.inputs[i];
    if (axis < 0) {
      inputs.push_back(whole[i].Clone());
      continue;
    }
    Tensor alone(whole[i].dtype(), whole[i].shape());
    std::memset(alone.data(), 0, alone.bytes());
    const int64_t extent = whole[i].shape()[static_cast<size_t>(axis)];
    const auto inner =
        static_cast<int64_t>(whole[i].bytes()) /
        std::accumulate(whole[i].shape().begin(), whole[i].shape().begin() + axis + 1, int64_t{1}, std::multiplies<>());
    const int64_t outer = static_cast<int64_t>(whole[i].bytes()) / (inner * extent);
    for (int64_t o = 0; o < outer; ++o) {
      for (const int64_t slice : kept) {
        const int64_t at = (o * extent + slice) * inner;
        std::memcpy(alone.data() + at, whole[i].data() + at, static_cast<size_t>(inner));
      }
    }
    inputs.push_back(std::move(alone));
  }
  return inputs;
}

Tensor Whole(const Tensor& tensor, size_t) {
  return tensor.Clone();
}

class Lister {
 public:
  Lister(const Operator& op, const Problem& problem) : op_(op), problem_(problem) {}

  std::vector<Configuration> List() {
    AddWhole(fmt::format("{} calls", kCalls), {}, kCalls);
    AddWhole("padded rows, unaligned", {.element_offset = 1, .row_padding = 3});
    AddWhole("axes in another order", {.permuted = true});
    for (const SliceableAxis& axis : ListSliceableAxes(op_, problem_)) {
      AddParts(axis.cut, axis.extent, false);
      AddReversed(axis);
      AddAlone(axis);
    }
    if (const auto last = FindLastQueries(problem_)) AddParts(last->cut, last->extent, true);
    return std::move(all_);
  }

 private:
  void AddWhole(std::string name, LayoutVariant layout, int calls = 1) {
    const auto clones = [](const std::vector<Tensor>& whole) {
      std::vector<Tensor> inputs;
      for (const Tensor& tensor : whole) inputs.push_back(tensor.Clone());
      return inputs;
    };
    all_.push_back({std::move(name), problem_, layout, calls, clones, Whole, Whole});
  }

  void AddParts(SliceCut cut, int64_t extent, bool only_last) {
    for (const int64_t n : ListPartialNumbers(extent)) {
      std::set<int64_t> firsts = {extent - n};
      if (!only_last) firsts.insert({0, (extent - n) / 2});
      for (const int64_t first : firsts) {
        cut.indices = CountFrom(first, n);
        const std::optional<Problem> part = BindSlices(op_, problem_, std::span(&cut, 1));
        if (!part) continue;
        const auto inputs = [cut, part = *part](const std::vector<Tensor>& whole) {
          std::vector<Tensor> taken = TakeInputs(whole, cut.inputs, cut.indices);
          for (size_t i = 0; i < taken.size(); ++i) taken[i].Reshape(part.inputs[i].shape);
          return taken;
        };
        const auto expected = [cut](const Tensor& of_whole, size_t output) {
          return TakeOutput(std::span(&cut, 1), of_whole, output);
        };
        all_.push_back({fmt::format("{}: {} of {}, from {}", CountOf(problem_, *part), n, extent, first),
                        *part,
                        {},
                        1,
                        inputs,
                        expected,
                        Whole});
      }
    }
  }

  void AddReversed(const SliceableAxis& axis) {
    const std::vector<int64_t> order = Backwards(axis.extent);
    const auto inputs = [cut = axis.cut, order](const std::vector<Tensor>& whole) {
      return TakeInputs(whole, cut.inputs, order);
    };
    const auto expected = [cut = axis.cut, order](const Tensor& of_whole, size_t output) {
      return TakeAxis(of_whole, cut.outputs[output], order);
    };
    all_.push_back(
        {fmt::format("{}: all {} backwards", NameOf(axis), axis.extent), problem_, {}, 1, inputs, expected, Whole});
  }

  void AddAlone(const SliceableAxis& axis) {
    const int64_t last = axis.extent - 1;
    const std::vector<int64_t> kept =
        axis.extent < 8 ? std::vector{axis.extent / 2} : std::vector{int64_t{0}, last / 2, last};
    const auto inputs = [cut = axis.cut, kept](const std::vector<Tensor>& whole) {
      return KeepSlices(whole, cut, kept);
    };
    const auto compared = [cut = axis.cut, kept](const Tensor& tensor, size_t output) {
      return TakeAxis(tensor, cut.outputs[output], kept);
    };
    all_.push_back({fmt::format("{}: {} of {} among zeros", NameOf(axis), kept.size(), axis.extent),
                    problem_,
                    {},
                    1,
                    inputs,
                    compared,
                    compared});
  }

  std::string NameOf(const SliceableAxis& axis) const {
    SliceCut cut = axis.cut;
    cut.indices = {0, 1};
    const std::optional<Problem> part = BindSlices(op_, problem_, std::span(&cut, 1));
    return part ? CountOf(problem_, *part) : "slices";
  }

  const Operator& op_;
  const Problem& problem_;
  std::vector<Configuration> all_;
};

}  // namespace

std::vector<Configuration> ListConfigurations(const Operator& op, const Problem& problem,
                                              const std::vector<Tensor>& inputs) {
  std::vector<Configuration> all = Lister(op, problem).List();
  for (Configuration& one : ListHeadGroups(op, problem)) all.push_back(std::move(one));
  for (Configuration& one : ListIndirections(op, problem, inputs)) all.push_back(std::move(one));
  return all;
}

std::map<int64_t, std::vector<int64_t>> ListTermAxes(const Operator& op, const Problem& problem, size_t output) {
  std::set<std::pair<size_t, int64_t>> known;
  for (const SliceAxes& axes : op.Slices(problem, output)) {
    for (size_t i = 0; i < axes.inputs.size(); ++i) known.insert({i, axes.inputs[i]});
  }
  std::map<int64_t, std::vector<int64_t>> by_extent;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Shape& shape = problem.inputs[i].shape;
    for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
      const int64_t extent = shape[static_cast<size_t>(axis)];
      if (extent < 2 || known.contains({i, axis})) continue;
      auto& axes = by_extent.try_emplace(extent, problem.inputs.size(), -1).first->second;
      if (axes[i] < 0) axes[i] = axis;
    }
  }
  return by_extent;
}

std::vector<OtherOrder> ListOtherOrders(const Operator& op, const Problem& problem, size_t output,
                                        const std::vector<Tensor>& inputs) {
  std::vector<OtherOrder> orders;
  const auto add = [&](const std::vector<int64_t>& axes, int64_t along, int64_t extent) {
    for (const std::vector<int64_t>& order : OrdersOf(extent)) {
      std::vector<int64_t> back(order.size());
      for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
      orders.push_back({TakeInputs(inputs, axes, order),
                        [along, back](const Tensor& result) { return TakeAxis(result, along, back); }});
    }
  };
  std::set<int64_t> kept;  // axes of the output along which nothing is summed
  for (const SliceAxes& axes : op.Slices(problem, output)) {
    kept.insert(axes.output);
    if (axes.output < 0 || !axes.alone) add(axes.inputs, axes.output, axes.extent);
  }
  const Shape& shape = problem.outputs[output].shape;
  for (const auto& [extent, axes] : ListTermAxes(op, problem, output)) {
    add(axes, -1, extent);
    for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
      if (shape[static_cast<size_t>(axis)] == extent && !kept.contains(axis)) add(axes, axis, extent);
    }
  }
  return orders;
}

}  // namespace assay
