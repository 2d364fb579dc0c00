// SPDX-License-Identifier: Apache-2.0
// Functions of single elements, as rows of a table, and the gradient of gelu.
#include <fmt/format.h>

#include <algorithm>

#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

using enum dnnl::algorithm;

struct Function {
  std::string_view op;
  EltwiseFunction function;
  std::string_view of_vectors, of_reference;     // fields of the contract beside f32acc;det=yes
  const char *alpha = nullptr, *beta = nullptr;  // the attributes of these names say alpha and beta
  EltwiseFunction behind{};                      // a post-op
};

// Measured on 2.6.3, each 257th float of vector code and each 4099th of reference loops, in ulp of the result: exp 2.7
// and 0.51, tanh 1.3 and 2.1; vector code makes a number of NaN's exponential, and flushes. Its logarithm is read from
// a table and is off by 29 ulp away from 1, its error function is good to some 1e-7 of 1: see known_issues.toml for
// what that makes of logarithms near 0 and of gelu, and for what functions of exponentials lose. For rsqrt vector code
// too calls the C library's powf for each element: 0.502 ulp, each 257th float, subnormals kept.
constexpr std::string_view kByExp = "math=4;ftz=all", kByTanh = "ftz=all;math=4";
// Without fused multiply-add what is left of x after its powers of two is rounded: 17 ulp at -18, which grows with x.
constexpr std::string_view kByUnfusedExp = "math=128;ftz=all";
constexpr Function kFunctions[] = {
    {"abs", {eltwise_abs}, "", ""},
    {"clip", {eltwise_clip}, "nan=any", "nan=any", "low", "high"},
    {"elu", {eltwise_elu}, kByExp, "math=1", "alpha"},
    {"exp", {eltwise_exp}, kByExp, "math=1"},
    {"gelu", {eltwise_gelu_erf}, kByTanh, "math=2"},
    {"hardsigmoid", {eltwise_linear, 1.0F / 6, 0.5F}, "nan=any", "nan=any", nullptr, nullptr, {eltwise_clip, 0, 1}},
    {"hardswish", {eltwise_hardswish, 1.0F / 6, 0.5F}, "", ""},
    {"leaky_relu", {eltwise_relu}, "", "", "alpha"},
    {"log", {eltwise_log}, "math=256;ftz=all", "math=1"},
    {"logsigmoid", kLogSigmoid, kByExp, "math=1"},
    {"mish", {eltwise_mish}, kByExp, "math=1"},
    {"neg", {eltwise_linear, -1}, "", ""},
    {"quick_gelu", {eltwise_swish, 1.702F}, kByExp, "math=1"},
    {"reciprocal", {eltwise_pow, 1, -1}, "math=1", "math=1"},
    {"relu", {eltwise_relu}, "nan=any", ""},
    {"relu6", {eltwise_clip, 0, 6}, "nan=any", "nan=any"},
    {"round", {eltwise_round}, "", ""},
    {"rsqrt", {eltwise_pow, 1, -0.5F}, "math=1", "math=1"},
    {"selu", {eltwise_elu, 1.67326324F}, kByExp, "math=1", nullptr, nullptr, {eltwise_linear, 1.05070099F}},
    {"sigmoid", {eltwise_logistic}, kByExp, "math=1;nan=any"},
    {"silu", {eltwise_swish, 1}, kByExp, "math=1"},
    {"softplus", kSoftplus, kByExp, "math=1"},
    {"sqrt", {eltwise_sqrt}, "", ""},
    {"square", {eltwise_square}, "", ""},
    {"tanh", {eltwise_tanh}, kByTanh, "math=4"},
};
constexpr Function kGeluTanh{"gelu", {eltwise_gelu_tanh}, kByTanh, "math=4"};

const Function& FunctionOf(const plugin::OpDesc& op) {
  const bool is_gelu = op.name().starts_with("gelu");  // or its gradient
  if (is_gelu && op.AttrString("approx") == "tanh") return kGeluTanh;
  return *std::ranges::find(kFunctions, is_gelu ? "gelu" : op.name(), &Function::op);
}

EltwiseFunction WithAttributes(const Function& function, const plugin::OpDesc& op) {
  EltwiseFunction with = function.function;
  if (function.alpha != nullptr) with.alpha = static_cast<float>(op.AttrFloat(function.alpha));
  if (function.beta != nullptr) with.beta = static_cast<float>(op.AttrFloat(function.beta));
  return with;
}

std::string ElementwiseContract(const plugin::OpDesc& op, const std::string& implementation) {
  if (IsByteType(op.inputs()[0].dtype)) return "acc=i32;det=yes";
  const Function& function = FunctionOf(op);
  const bool is_reference = implementation.starts_with("ref");
  std::string_view fields = is_reference ? function.of_reference : function.of_vectors;
  if (fields == kByExp && !HasFusedMultiplyAdd()) fields = kByUnfusedExp;
  const bool makes_number_of_nan = function.op == "exp" && !is_reference;
  const std::string contract =
      fmt::format("f32acc;det=yes{}{}{}", fields.empty() ? "" : ";", fields, makes_number_of_nan ? ";nan=any" : "");
  return fields.find("ftz") != std::string_view::npos ? contract : WithFlush(contract, op);
}

// All operands in one type and one layout.
Md LayoutOfAll(const plugin::OpDesc& op) {
  const plugin::Tensor& x = op.inputs()[0];
  const bool is_taken = IsComputed(x.dtype) || (op.name() == "relu" && IsByteType(x.dtype));
  if (!is_taken || !op.AllTypes([&](plugin::DType dtype) { return dtype == x.dtype; })) {
    throw plugin::Unsupported("{} {} is not offered: oneDNN on CPUs computes f32 and bf16", op.name(), op.DTypesText());
  }
  const Md layout = MdOf(x);
  const auto lies_so = [&](const plugin::Tensor& tensor) { return MdOf(tensor) == layout; };
  if (!std::ranges::all_of(op.inputs(), lies_so) || !std::ranges::all_of(op.outputs(), lies_so)) {
    throw plugin::Unsupported("oneDNN's functions of elements need one layout for input and output");
  }
  return layout;
}

Problem ElementwiseProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const Function& function = FunctionOf(op);
  op.MayIgnore({"n"});
  return OrUnsupported(op.name() + " " + op.DTypesText() + " with these strides", [&] {
    const Md given = LayoutOfAll(op);
    // Measured on 2.6.3: of one axis its loops with a post-op write nothing, and report success.
    const bool is_line = function.behind.algorithm != undef && op.inputs()[0].Rank() == 1;
    const Md x = is_line ? given.reshape({1, op.inputs()[0].shape[0]}) : given;
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 0, x}, {DNNL_ARG_DST, true, 0, x}};
    dnnl::primitive_attr attributes = StrictAttributes();
    if (function.behind.algorithm != undef) {
      dnnl::post_ops behind;
      AppendEltwise(behind, function.behind);
      attributes.set_post_ops(behind);
    }
    problem.descriptor = EltwiseDescriptor(engine, WithAttributes(function, op), x, attributes);
    return problem;
  });
}

Problem GradientProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const Function& function = FunctionOf(op);
  op.MayIgnore({"n"});
  return OrUnsupported(op.name() + " " + op.DTypesText() + " with these strides", [&] {
    const Md x = LayoutOfAll(op);
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 1, x}, {DNNL_ARG_DIFF_DST, false, 0, x}, {DNNL_ARG_DIFF_SRC, true, 0, x}};
    problem.descriptor = EltwiseBackwardDescriptor(engine, WithAttributes(function, op), x, StrictAttributes());
    return problem;
  });
}

std::vector<Row> MakeRows() {
  std::vector<Row> rows = {{{"gelu_backward", kOneDnnTypes, ""}, ElementwiseContract, Alone<GradientProblem>}};
  for (const Function& function : kFunctions) {
    const bool has_bf16 = function.function.algorithm != eltwise_round;
    const bool has_bytes = function.op == "relu";
    rows.push_back({{function.op.data(),
                     plugin::Types(kTypesWithBytes)
                         .first(has_bytes  ? 3
                                : has_bf16 ? 2
                                           : 1),
                     ""},
                    ElementwiseContract,
                    Alone<ElementwiseProblem>});
  }
  return rows;
}

}  // namespace

std::span<const Row> ElementwiseRows() {
  static const std::vector<Row> rows = MakeRows();
  return rows;
}

}  // namespace onednn
