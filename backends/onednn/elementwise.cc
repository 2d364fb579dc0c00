// SPDX-License-Identifier: Apache-2.0
// Functions of single elements: exp, log, tanh, gelu by erf or by tanh, and rsqrt as a power.
#include <fmt/format.h>

#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

struct Function {
  std::string_view op;
  EltwiseFunction function;
  int math_of_vectors, math_of_reference;  // ulp of its exponential, logarithm, hyperbolic tangent or error function
};

// Measured on 2.6.3, each 257th float of vector code and each 4099th of reference loops, in ulp of the result: exp 2.7
// and 0.51, tanh 1.3 and 2.1; vector code makes a number of NaN's exponential, and flushes. Its logarithm is read from
// a table and is off by 29 ulp away from 1, its error function is good to some 1e-7 of 1: see known_issues.toml for
// what that makes of logarithms near 0 and of gelu.
// Without fused multiply-add what is left of x after its powers of two is rounded: 17 ulp at -18, which grows with x.
constexpr int kMathOfUnfusedExp = 128;
constexpr Function kExp{"exp", {dnnl::algorithm::eltwise_exp}, 4, 1};
constexpr Function kLog{"log", {dnnl::algorithm::eltwise_log}, 256, 1};
constexpr Function kTanh{"tanh", {dnnl::algorithm::eltwise_tanh}, 4, 4};
// Vector code too calls the C library's powf for each element: 0.502 ulp, each 257th float, subnormals kept.
constexpr Function kRsqrt{"rsqrt", {dnnl::algorithm::eltwise_pow, 1, -0.5F}, 1, 1};
constexpr Function kGeluErf{"gelu", {dnnl::algorithm::eltwise_gelu_erf}, 4, 2};
constexpr Function kGeluTanh{"gelu", {dnnl::algorithm::eltwise_gelu_tanh}, 4, 4};

const Function& FunctionOf(const plugin::OpDesc& op) {
  if (op.name() == "gelu") return op.AttrString("approx") == "tanh" ? kGeluTanh : kGeluErf;
  for (const Function* function : {&kExp, &kLog, &kTanh, &kRsqrt}) {
    if (op.name() == function->op) return *function;
  }
  throw plugin::Unsupported("oneDNN has no function '{}' here", op.name());
}

std::string ElementwiseContract(const plugin::OpDesc& op, const std::string& implementation) {
  const Function& function = FunctionOf(op);
  if (function.op == "rsqrt") return "f32acc;math=1;det=yes";
  if (implementation.starts_with("ref")) {  // the conversion to bf16 flushes
    const bool narrow = op.inputs()[0].dtype == plugin::kBF16;
    return fmt::format("f32acc;math={};det=yes{}", function.math_of_reference, narrow ? ";ftz=out" : "");
  }
  const bool is_exp = function.function.algorithm == dnnl::algorithm::eltwise_exp;
  const int math = is_exp && !HasFusedMultiplyAdd() ? kMathOfUnfusedExp : function.math_of_vectors;
  return fmt::format("f32acc;math={};det=yes;ftz=all{}", math, is_exp ? ";nan=any" : "");
}

Problem ElementwiseProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const Function& function = FunctionOf(op);
  op.MayIgnore({"n"});
  const plugin::Tensor &in = op.inputs()[0], &out = op.outputs()[0];
  if (in.dtype != out.dtype || (in.dtype != plugin::kF32 && in.dtype != plugin::kBF16)) {
    throw plugin::Unsupported("{} {} is not offered: oneDNN on CPUs computes f32 and bf16", op.name(), op.DTypesText());
  }
  return OrUnsupported(op.name() + " " + op.DTypesText() + " with these strides", [&] {
    const Md x(in.shape, *DataType(in.dtype), in.strides), y(out.shape, *DataType(out.dtype), out.strides);
    if (x != y) throw plugin::Unsupported("oneDNN's functions of elements need one layout for input and output");
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 0, x}, {DNNL_ARG_DST, true, 0, y}};
    problem.descriptor = EltwiseDescriptor(engine, function.function, x, StrictAttributes());
    return problem;
  });
}

constexpr Row RowOf(const char* op) {
  return {{op, kOneDnnTypes, ""}, ElementwiseContract, Alone<ElementwiseProblem>};
}

constexpr Row kElementwiseRows[] = {RowOf("exp"), RowOf("gelu"), RowOf("log"), RowOf("rsqrt"), RowOf("tanh")};

}  // namespace

std::span<const Row> ElementwiseRows() {
  return kElementwiseRows;
}

}  // namespace onednn
