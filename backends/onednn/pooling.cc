// SPDX-License-Identifier: Apache-2.0
// Means and maxima of windows. oneDNN keeps where a maximum lies in its window; what the operator has, its place in the
// image, is made of that.
#include <algorithm>

#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

using Extents2 = std::array<int64_t, 2>;  // rows, columns

struct PoolSpec {
  explicit PoolSpec(const plugin::OpDesc& op)
      : is_max(op.name() == "max_pool"), from(Spatial(op.inputs()[0])), to(Spatial(op.outputs()[0])) {
    op.MayIgnore({"n", "c", "h", "w", "oh", "ow", "ceil"});
    if (op.name() == "adaptive_avg_pool") {
      for (size_t axis = 0; axis < 2; ++axis) {
        kernel[axis] = stride[axis] = from[axis] / to[axis];
        is_regular = is_regular && from[axis] % to[axis] == 0;
      }
      return;
    }
    const int64_t k = op.AttrInt("k"), s = op.AttrInt("stride"), around = op.AttrInt("pad");
    kernel = {k, k}, stride = {s, s}, pad = {around, around};
    counts_padding = !is_max && op.AttrInt("count_pad") != 0;
    // Rows and columns behind the image: more than around it where ceil=1 adds a window.
    for (size_t axis = 0; axis < 2; ++axis) behind[axis] = (to[axis] - 1) * s + k - from[axis] - around;
    is_regular = !counts_padding || std::max(behind[0], behind[1]) <= around;
  }
  static Extents2 Spatial(const plugin::Tensor& tensor) { return {tensor.shape[2], tensor.shape[3]}; }

  bool is_max, counts_padding = false;
  bool is_regular = true;  // oneDNN has these windows and divides by as many as the operator
  Extents2 from, to, kernel{}, stride{}, pad{}, behind{};
};

dnnl::memory::dims DimsOf(const Extents2& extents) {
  return {extents.begin(), extents.end()};
}

std::string PoolingContract(const plugin::OpDesc& op, const std::string&) {
  return WithFlush(op.name() == "max_pool" ? "f32acc;det=yes;nan=any" : "f32acc;det=yes", op);
}

// Turns places in windows into those in images.
template <class Place>
void WritePlaces(const PoolSpec& spec, const Place* in_windows, std::span<int64_t> places) {
  for (size_t i = 0; i < places.size(); ++i) {
    const auto in_window = static_cast<int64_t>(in_windows[i]), at = static_cast<int64_t>(i);
    const int64_t row = at / spec.to[1] % spec.to[0] * spec.stride[0] - spec.pad[0] + in_window / spec.kernel[1];
    const int64_t column = at % spec.to[1] * spec.stride[1] - spec.pad[1] + in_window % spec.kernel[1];
    places[i] = row * spec.from[1] + column;
  }
}

void AddPlaces(const PoolSpec& spec, int64_t count, Problem& problem) {
  problem.finish = [spec, count](const Arguments& arguments, Problem::Tensors, Problem::Tensors outputs) {
    const dnnl::memory& workspace = arguments.at(DNNL_ARG_WORKSPACE);
    const std::span places(reinterpret_cast<int64_t*>(outputs[1]), static_cast<size_t>(count));
    const bool is_byte = workspace.get_desc().get_size() == places.size();
    const void* in_windows = workspace.get_data_handle();
    if (is_byte) return WritePlaces(spec, static_cast<const uint8_t*>(in_windows), places);
    WritePlaces(spec, static_cast<const int32_t*>(in_windows), places);
  };
}

Problem PoolingProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const PoolSpec spec(op);
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  if (!IsComputed(x.dtype) || y.dtype != x.dtype) {
    throw plugin::Unsupported("{} {} is not offered: oneDNN on CPUs computes f32 and bf16", op.name(), op.DTypesText());
  }
  if (!spec.is_regular) {
    throw plugin::Unsupported(
        "oneDNN has windows of one size alone, and counts all of the padding: not of an image that oh or ow does not "
        "divide, nor count_pad=1 with a window that ends behind the padding");
  }
  // A workspace is dense, as the operands then are.
  if (!op.AllDense()) {
    throw plugin::Unsupported("oneDNN's pooling is offered on dense tensors alone");
  }
  return OrUnsupported(op.name() + " " + op.DTypesText() + " with these windows", [&] {
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 0, MdOf(x)}, {DNNL_ARG_DST, true, 0, MdOf(y)}};
    const auto mean = spec.counts_padding ? dnnl::algorithm::pooling_avg_include_padding
                                          : dnnl::algorithm::pooling_avg_exclude_padding;
    problem.descriptor = MakeDescriptor<Pooling>(engine, StrictAttributes(), spec.is_max ? kTraining : kInference,
                                                 spec.is_max ? dnnl::algorithm::pooling_max : mean, MdOf(x), MdOf(y),
                                                 DimsOf(spec.stride), DimsOf(spec.kernel), dnnl::memory::dims{0, 0},
                                                 DimsOf(spec.pad), DimsOf(spec.behind));
    if (spec.is_max) AddPlaces(spec, y.Elements(), problem);
    return problem;
  });
}

constexpr Row kPoolingRows[] = {
    {{"adaptive_avg_pool", kOneDnnTypes, "", plugin::kDense}, PoolingContract, Alone<PoolingProblem>},
    {{"avg_pool", kOneDnnTypes, "", plugin::kDense}, PoolingContract, Alone<PoolingProblem>},
    {{"max_pool", kOneDnnTypes, "", plugin::kDense}, PoolingContract, Alone<PoolingProblem>},
};

}  // namespace

std::span<const Row> PoolingRows() {
  return kPoolingRows;
}

}  // namespace onednn
