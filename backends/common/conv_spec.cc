// SPDX-License-Identifier: Apache-2.0
#include "backends/common/conv_spec.h"

#include <algorithm>

#include "backends/common/status.h"

namespace plugin {
namespace {

// A list attribute with one number per spatial axis, or one for all, behind leading `absent`.
Extents ReadList(const OpDesc& op, const char* key, int rank, int64_t absent, int64_t least) {
  std::vector<int64_t> list = op.AttrList(key);
  if (list.size() == 1) list.resize(static_cast<size_t>(rank), list[0]);
  if (static_cast<int>(list.size()) != rank) {
    throw Failure("conv: {} has {} numbers, i has {}", key, list.size(), rank);
  }
  if (std::ranges::any_of(list, [=](int64_t x) { return x < least; })) {
    throw Failure("conv: {} of {} below {}", key, ShapeText(list), least);
  }
  Extents extents;
  extents.fill(absent);
  std::ranges::copy_backward(list, extents.end());
  return extents;
}

ConvOperand OperandOf(const Tensor& tensor, int64_t outer, int64_t inner, const Extents& extents, int rank) {
  std::vector<int64_t> expected{outer, inner};
  expected.insert(expected.end(), extents.end() - rank, extents.end());
  if (tensor.shape != expected) {
    throw Failure("conv: operand '{}' has shape {}, but the attributes imply {}", tensor.name, ShapeText(tensor.shape),
                  ShapeText(expected));
  }
  ConvOperand operand{tensor.dtype, tensor.strides[0], tensor.strides[1], {}};
  std::copy(tensor.strides.begin() + 2, tensor.strides.end(), operand.strides.end() - rank);
  return operand;
}

}  // namespace

bool ConvSpec::IsWinograd() const {
  return rank == 2 && kernel == Extents{1, 3, 3} && stride == Extents{1, 1, 1} && dilation == Extents{1, 1, 1};
}

bool ConvSpec::HasDenseTerms() const {
  int64_t expected = 1;
  for (size_t axis = 3; axis-- > 0; expected *= kernel[axis]) {
    if (kernel[axis] > 1 && w.strides[axis] != expected) return false;
  }
  return GroupInputs() == 1 || w.inner_stride == expected;
}

ConvSpec ParseConv(const OpDesc& op) {
  ConvSpec s;
  s.n = op.AttrInt("n"), s.c = op.AttrInt("c"), s.o = op.AttrInt("o"), s.groups = op.AttrInt("groups");
  s.has_bias = op.AttrInt("bias") != 0;
  if (s.n == 0 || s.c == 0 || s.o == 0) throw Unsupported("conv with an extent of 0");
  if (s.n < 1 || s.c < 1 || s.o < 1 || s.groups < 1 || s.c % s.groups != 0 || s.o % s.groups != 0) {
    throw Failure("conv: n={} c={} o={} groups={} are not positive, or no multiples of groups", s.n, s.c, s.o,
                  s.groups);
  }
  s.rank = static_cast<int>(op.AttrList("i").size());
  if (s.rank < 1 || s.rank > 3) throw Failure("conv: i has {} numbers; 1 to 3 are possible", s.rank);
  s.in = ReadList(op, "i", s.rank, 1, 1), s.kernel = ReadList(op, "k", s.rank, 1, 1);
  s.stride = ReadList(op, "stride", s.rank, 1, 1), s.dilation = ReadList(op, "dilation", s.rank, 1, 1);
  s.pad = ReadList(op, "pad", s.rank, 0, 0);
  for (size_t a = 0; a < 3; ++a) {
    const int64_t room = s.in[a] + 2 * s.pad[a] - s.dilation[a] * (s.kernel[a] - 1) - 1;
    if (room < 0) throw Failure("conv: the kernel is longer than the padded input along axis {}", a);
    s.out[a] = room / s.stride[a] + 1;
    s.stride[a] = std::min(s.stride[a], s.in[a] + 2 * s.pad[a]);  // the same; kernels' buffers grow with it
  }
  const size_t wanted = s.has_bias ? 3 : 2;
  if (op.inputs().size() != wanted || op.outputs().size() != 1) {
    throw Failure("conv: {} inputs and {} outputs; expected {} inputs (x, w, bias when bias=1) and 1 output",
                  op.inputs().size(), op.outputs().size(), wanted);
  }
  s.x = OperandOf(op.inputs()[0], s.n, s.c, s.in, s.rank);
  s.w = OperandOf(op.inputs()[1], s.o, s.GroupInputs(), s.kernel, s.rank);
  s.y = OperandOf(op.outputs()[0], s.n, s.o, s.out, s.rank);
  if (!s.has_bias) return s;
  const Tensor& bias = op.inputs()[2];
  if (bias.shape != std::vector<int64_t>{s.o}) {
    throw Failure("conv: operand '{}' has shape {}, but bias must be [{}]", bias.name, ShapeText(bias.shape), s.o);
  }
  s.bias_dtype = bias.dtype, s.bias_stride = bias.strides[0];
  return s;
}

std::string IntegerConvWhyNot(const ConvSpec& s, bool takes_bias) {
  // The longest sum that cannot overflow int32: 2^14 is the largest |product| of two i8.
  constexpr int64_t kMostTerms = (int64_t{1} << 17) - 1;
  if (!s.IsInteger() || s.x.dtype != kI8 || s.w.dtype != kI8) return "the only integer conv is i8-i8-i32";
  if (s.has_bias && !takes_bias) return "an integer conv takes no bias";
  if (s.has_bias && s.bias_dtype != kI32 && s.bias_dtype != kI8) return "an integer conv adds an i32 or i8 bias only";
  if (s.Terms() <= kMostTerms) return "";
  return fmt::format("{} terms can overflow the int32 accumulator; at most {}", s.Terms(), kMostTerms);
}

}  // namespace plugin
