// SPDX-License-Identifier: Apache-2.0
// softmax and log-softmax, forward for inference.
#include <fmt/format.h>

#include "backends/common/softmax_spec.h"
#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

// The exponential of oneDNN's vector code is a polynomial within 2 ulp; reference code calls the C library's expf and
// logf, which err by up to 1 ulp (glibc manual, "Known Maximum Errors in Math Functions"), and divides. Results stay in
// f32 until the output; the vector code's exp and the conversion to bf16 flush what is below the normal range. The
// vector code's maximum loses NaN (measured on 2.6.3: rows of zeros). In bf16 both keep the exponentials in the output
// before they divide. Reference code gives no NaN for a row of -inf. The vector code's logarithm is read from a table:
// measured on 2.6.3, 94 ulp off for ln 1.31.
std::string SoftmaxContract(const plugin::OpDesc& op, const std::string& implementation) {
  const plugin::SoftmaxSpec spec = plugin::ParseSoftmax(op);
  const bool reference = implementation.starts_with("ref");
  std::string contract = fmt::format("f32acc;math={};ftz=out;det=yes", reference ? 1 : spec.log ? 256 : 4);
  contract += reference ? ";masked=any" : ";masked=nan;nan=any";
  return contract + (spec.dtype == plugin::kBF16 ? ";mid=bf16" : "");
}

Problem SoftmaxProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const plugin::SoftmaxSpec spec = plugin::ParseSoftmax(op);
  if (spec.dtype != plugin::kF32 && spec.dtype != plugin::kBF16) {
    throw plugin::Unsupported("softmax {} is not offered: oneDNN on CPUs computes f32 and bf16", op.DTypesText());
  }
  if (op.inputs()[0].Rank() > DNNL_MAX_NDIMS) throw plugin::Unsupported("oneDNN has at most {} axes", DNNL_MAX_NDIMS);
  return OrUnsupported("softmax " + op.DTypesText() + " with this axis and these strides", [&] {
    const plugin::Tensor &in = op.inputs()[0], &out = op.outputs()[0];
    const Md x(in.shape, *DataType(in.dtype), in.strides), y(out.shape, *DataType(out.dtype), out.strides);
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 0, x}, {DNNL_ARG_DST, true, 0, y}};
    problem.descriptor = SoftmaxDescriptor(engine, spec.log, x, y, spec.axis_index, StrictAttributes());
    return problem;
  });
}

constexpr Row kSoftmaxRows[] = {{{"softmax", kOneDnnTypes, ""}, SoftmaxContract, Alone<SoftmaxProblem>}};

}  // namespace

std::span<const Row> SoftmaxRows() {
  return kSoftmaxRows;
}

}  // namespace onednn
