// SPDX-License-Identifier: Apache-2.0
// Functions of two operands, of which the second may be one number for a row, a column or the whole: oneDNN's binary
// primitive, and prelu.
#include <algorithm>

#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

using enum dnnl::algorithm;

struct Function2 {
  const char* op;
  dnnl::algorithm algorithm;
  bool is_comparison = false;
  std::string_view fields = "";  // of the contract
};

constexpr Function2 kFunctions2[] = {
    {"add", binary_add},
    {"div", binary_div},
    {"equal", binary_eq, true},
    {"greater", binary_gt, true},
    {"greater_equal", binary_ge, true},
    {"less", binary_lt, true},
    {"less_equal", binary_le, true},
    {"maximum", binary_max, false, ";nan=any"},
    {"minimum", binary_min, false, ";nan=any"},
    {"mul", binary_mul},
    {"not_equal", binary_ne, true},
    {"prelu", undef},
    {"sub", binary_sub},
};

const Function2& FunctionOf2(const plugin::OpDesc& op) {
  return *std::ranges::find(kFunctions2, op.name(), &Function2::op);
}

bool TakesBytes(const Function2& function) {
  return function.is_comparison || function.algorithm == binary_max || function.algorithm == binary_min;
}

std::string BinaryContract(const plugin::OpDesc& op, const std::string&) {
  if (IsByteType(op.inputs()[0].dtype)) return "acc=i32;det=yes";
  return WithFlush("f32acc;det=yes" + std::string(FunctionOf2(op).fields), op);
}

// The second operand with an axis of 1 where x has one that it lacks.
Md BesideX(const plugin::OpDesc& op, const plugin::Tensor& x, plugin::Tensor y) {
  if (x.Rank() == 2) {
    const std::string& per = op.AttrString("per");
    if (per != "column") y.shape.push_back(1), y.strides.push_back(1);
    if (per != "row") {
      y.shape.insert(y.shape.begin(), 1);
      y.strides.insert(y.strides.begin(), y.shape.back() * y.strides.back());
    }
  }
  return MdOf(y);
}

Problem BinaryProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const Function2& function = FunctionOf2(op);
  op.MayIgnore({"n", "rows", "per"});
  const plugin::Tensor &x = op.inputs()[0], &y = op.inputs()[1], &z = op.outputs()[0];
  const bool is_taken = IsComputed(x.dtype) || (IsByteType(x.dtype) && TakesBytes(function));
  if (!is_taken || y.dtype != x.dtype || z.dtype != (function.is_comparison ? plugin::kBool8 : x.dtype)) {
    throw plugin::Unsupported("{} {} is not offered: oneDNN on CPUs computes f32 and bf16", op.name(), op.DTypesText());
  }
  return OrUnsupported(op.name() + " " + op.DTypesText() + " with these strides", [&] {
    const Md first = MdOf(x), second = BesideX(op, x, y), result = MdOf(z);
    Problem problem;
    problem.operands = {
        {DNNL_ARG_SRC_0, false, 0, first}, {DNNL_ARG_SRC_1, false, 1, second}, {DNNL_ARG_DST, true, 0, result}};
    if (function.algorithm != undef) {
      problem.descriptor =
          MakeDescriptor<dnnl::binary>(engine, StrictAttributes(), function.algorithm, first, second, result);
      return problem;
    }
    if (first != result) throw plugin::Unsupported("oneDNN's prelu needs one layout for input and output");
    problem.operands[1].argument = DNNL_ARG_WEIGHTS;
    problem.descriptor = PreluDescriptor(engine, first, second, StrictAttributes());
    return problem;
  });
}

std::vector<Row> MakeBinaryRows() {
  std::vector<Row> rows;
  for (const Function2& function : kFunctions2) {
    const plugin::Types types = TakesBytes(function) ? plugin::Types(kTypesWithBytes) : plugin::Types(kOneDnnTypes);
    rows.push_back({{function.op, types, ""}, BinaryContract, Alone<BinaryProblem>});
  }
  return rows;
}

}  // namespace

std::span<const Row> BinaryRows() {
  static const std::vector<Row> rows = MakeBinaryRows();
  return rows;
}

}  // namespace onednn
