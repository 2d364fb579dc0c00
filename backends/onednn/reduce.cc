// SPDX-License-Identifier: Apache-2.0
// reduce: sum, mean, max, min, prod and l2 (as the 2-norm). oneDNN keeps the rank: reduced axes have extent 1.
#include "backends/common/reduce_spec.h"
#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

using plugin::ReduceKind;
using plugin::ReduceSpec;

dnnl::algorithm AlgorithmOf(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return dnnl::algorithm::reduction_sum;
    case ReduceKind::kMean:
      return dnnl::algorithm::reduction_mean;
    case ReduceKind::kMax:
      return dnnl::algorithm::reduction_max;
    case ReduceKind::kMin:
      return dnnl::algorithm::reduction_min;
    case ReduceKind::kProd:
      return dnnl::algorithm::reduction_mul;
    case ReduceKind::kL2:
      return dnnl::algorithm::reduction_norm_lp_sum;
    default:
      throw plugin::Unsupported("oneDNN's reduction has sum, mean, max, min, prod and l2 only");
  }
}

void CheckOffered(const ReduceSpec& s, const plugin::OpDesc& op) {
  const auto taken = [](plugin::DType d) { return d == plugin::kF32 || d == plugin::kBF16; };
  if (!taken(s.in) || !taken(s.out)) {
    throw plugin::Unsupported("reduce {} is not offered: oneDNN on CPUs reduces f32 and bf16", op.DTypesText());
  }
  if (s.ignore_nan) throw plugin::Unsupported("nan=ignore is not offered: oneDNN does not define NaN in max and min");
  if (s.count == 0 || s.outputs == 0) throw plugin::Unsupported("reduce of an empty extent");
  if (s.count == 1) throw plugin::Unsupported("oneDNN does not reduce axes of extent 1 alone");
  if (s.is_reduced.size() > DNNL_MAX_NDIMS) throw plugin::Unsupported("oneDNN has at most {} axes", DNNL_MAX_NDIMS);
}

// The output's strides with the reduced axes put back where a dense row-major tensor has them: oneDNN's fast
// implementations want the layouts of input and output to match.
std::vector<int64_t> FullStrides(const ReduceSpec& spec, const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides = spec.out_strides;
  int64_t dense = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    if (spec.is_reduced[i]) {
      strides[i] = dense;
    } else {
      dense = strides[i] * shape[i];
    }
  }
  return strides;
}

// Measured on 2.6.3: bf16 is summed in f32, subnormal inputs count, subnormal bf16 outputs are flushed by the
// conversion. max and min lose NaN, and with it (reference code) the elements before it. l2 calls powf.
std::string ReduceContract(const plugin::OpDesc& op, const std::string&) {
  const ReduceSpec spec = plugin::ParseReduce(op);
  std::string contract = "f32acc;det=yes";
  if (spec.out == plugin::kBF16) contract += ";ftz=out";
  if (spec.kind == ReduceKind::kMax || spec.kind == ReduceKind::kMin) contract += ";nan=any";
  if (spec.kind == ReduceKind::kMean || spec.kind == ReduceKind::kL2) contract += ";math=1";
  return contract;
}

Problem ReduceProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const ReduceSpec spec = plugin::ParseReduce(op);
  const dnnl::algorithm algorithm = AlgorithmOf(spec.kind);
  CheckOffered(spec, op);
  return OrUnsupported("reduce " + op.DTypesText() + " with these axes and strides", [&] {
    const plugin::Tensor& tensor = op.inputs()[0];
    std::vector<int64_t> out_shape = tensor.shape;
    for (size_t i = 0; i < out_shape.size(); ++i) {
      if (spec.is_reduced[i]) out_shape[i] = 1;
    }
    const Md x(tensor.shape, *DataType(spec.in), tensor.strides);
    const Md y(out_shape, *DataType(spec.out), FullStrides(spec, tensor.shape));
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 0, x}, {DNNL_ARG_DST, true, 0, y}};
    constexpr float kNorm = 2.0f;  // the p of the p-norm; the other kinds do not read it
    problem.descriptor = MakeDescriptor<dnnl::reduction>(engine, StrictAttributes(), algorithm, x, y, kNorm, 0.0f);
    return problem;
  });
}

constexpr Row kReduceRows[] = {{{"reduce", kOneDnnTypes, ""}, ReduceContract, Alone<ReduceProblem>}};

}  // namespace

std::span<const Row> ReduceRows() {
  return kReduceRows;
}

}  // namespace onednn
