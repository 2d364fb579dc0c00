// SPDX-License-Identifier: Apache-2.0
// resize, whose coordinates oneDNN has at the middle of elements: coords=half_pixel.
#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

std::string ResizeContract(const plugin::OpDesc& op, const std::string&) {
  return WithFlush("f32acc;det=yes", op);
}

// Whether an element lies half way between two, where rules differ. Element i lies at ((2 i + 1) from - to) / (2 to).
bool HasHalves(int64_t from, int64_t to) {
  for (int64_t i = 0; i < to; ++i) {
    if (((2 * i + 1) * from) % (2 * to) == 0) return true;
  }
  return false;
}

Problem ResizeProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  op.MayIgnore({"n", "c", "h", "w", "oh", "ow"});
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  const std::string &mode = op.AttrString("mode"), &rounding = op.AttrString("rounding");
  if (!IsComputed(x.dtype) || y.dtype != x.dtype) {
    throw plugin::Unsupported("resize {} is not offered: oneDNN on CPUs computes f32 and bf16", op.DTypesText());
  }
  if (mode == "cubic") throw plugin::Unsupported("oneDNN has mode nearest and linear");
  if (op.AttrString("coords") != "half_pixel") throw plugin::Unsupported("oneDNN has coords=half_pixel alone");
  const bool is_nearest = mode == "nearest";
  if (is_nearest) {
    if (!rounding.starts_with("round")) throw plugin::Unsupported("oneDNN takes the nearest element, to either side");
    const bool rules_differ = HasHalves(x.shape[2], y.shape[2]) || HasHalves(x.shape[3], y.shape[3]);
    if (rules_differ && rounding == "round_prefer_floor") {
      throw plugin::Unsupported("of two elements that are as near oneDNN takes the second: rounding=round_prefer_ceil");
    }
  }
  return OrUnsupported("resize " + op.DTypesText() + " with these strides", [&] {
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 0, MdOf(x)}, {DNNL_ARG_DST, true, 0, MdOf(y)}};
    problem.descriptor = MakeDescriptor<dnnl::resampling_forward>(
        engine, StrictAttributes(), kInference,
        is_nearest ? dnnl::algorithm::resampling_nearest : dnnl::algorithm::resampling_linear, MdOf(x), MdOf(y));
    return problem;
  });
}

constexpr Row kResizeRows[] = {{{"resize", kOneDnnTypes, ""}, ResizeContract, Alone<ResizeProblem>}};

}  // namespace

std::span<const Row> ResizeRows() {
  return kResizeRows;
}

}  // namespace onednn
