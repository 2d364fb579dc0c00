// SPDX-License-Identifier: Apache-2.0
#include "backends/common/softmax_spec.h"

#include "backends/common/status.h"

namespace plugin {

SoftmaxSpec::Offsets SoftmaxSpec::OffsetsOf(int64_t row) const {
  Offsets offsets;
  for (size_t i = others.size(); i-- > 0; row /= others[i].size) {
    offsets.x += row % others[i].size * others[i].x_stride;
    offsets.y += row % others[i].size * others[i].y_stride;
  }
  return offsets;
}

SoftmaxSpec ParseSoftmax(const OpDesc& op) {
  if (op.inputs().size() != 1 || op.outputs().size() != 1) throw Failure("softmax: not one input, one output");
  const Tensor& x = op.inputs()[0];
  const Tensor& y = op.outputs()[0];
  if (x.dtype != y.dtype) throw Unsupported("softmax: x and y of one type are offered, not {}", op.DTypesText());
  if (x.shape != y.shape) {
    throw Failure("softmax: x has shape {} and y has shape {}, but they must be alike", ShapeText(x.shape),
                  ShapeText(y.shape));
  }
  op.MayIgnore({"shape"});  // that of x
  SoftmaxSpec spec;
  spec.log = op.AttrInt("log") != 0;
  spec.dtype = x.dtype;
  const int64_t axis = op.AttrInt("axis"), resolved = axis < 0 ? axis + x.Rank() : axis;
  if (resolved < 0 || resolved >= x.Rank()) throw Failure("softmax: axis {} of an operand of rank {}", axis, x.Rank());
  spec.axis_index = static_cast<int>(resolved);
  for (int i = 0; i < x.Rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    const SoftmaxSpec::Axis one{x.shape[at], x.strides[at], y.strides[at]};
    if (i == spec.axis_index) {
      spec.axis = one;
    } else {
      spec.others.push_back(one);
      spec.rows *= one.size;
    }
  }
  return spec;
}

std::string FloatSoftmaxWhyNot(const SoftmaxSpec& spec, const OpDesc& op) {
  if (!IsFloat(spec.dtype)) return fmt::format("softmax computes f64, f32, f16 and bf16, not {}", op.DTypesText());
  return spec.rows == 0 || spec.axis.size == 0 ? "softmax of an empty extent" : "";
}

}  // namespace plugin
