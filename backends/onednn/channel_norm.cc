// SPDX-License-Identifier: Apache-2.0
// batch_norm with statistics that are given or, in training, those of the batch; instance_norm, whose channels of all
// samples are oneDNN's channels of one.
#include <algorithm>

#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

std::string ChannelNormContract(const plugin::OpDesc& op, const std::string&) {
  return WithFlush("f32acc;math=2;det=yes", op);
}

const float* FloatsOf(std::byte* tensor) {
  return reinterpret_cast<const float*>(tensor);
}

// x [n,c,s] and y in one type and dense; all other operands in f32.
void CheckTypes(const plugin::OpDesc& op) {
  const plugin::Tensor& x = op.inputs()[0];
  const auto is_f32 = [](const plugin::Tensor& tensor) { return tensor.dtype == plugin::kF32; };
  if (!IsComputed(x.dtype) || op.outputs()[0].dtype != x.dtype ||
      !std::all_of(op.inputs().begin() + 1, op.inputs().end(), is_f32) ||
      !std::all_of(op.outputs().begin() + 1, op.outputs().end(), is_f32)) {
    throw plugin::Unsupported("{} {} is not offered: oneDNN on CPUs takes x and y in f32 or bf16, all else in f32",
                              op.name(), op.DTypesText());
  }
  if (!op.AllDense()) {
    throw plugin::Unsupported("oneDNN's normalisation of channels is offered on dense tensors alone");
  }
}

Problem MakeChannelNorm(const plugin::OpDesc& op, const dnnl::engine& engine, dnnl::prop_kind kind, const Md& x,
                        dnnl::normalization_flags more = dnnl::normalization_flags::none) {
  op.MayIgnore({"n", "c", "s"});
  CheckTypes(op);
  const auto eps = static_cast<float>(op.AttrFloat("eps"));
  return OrUnsupported(op.name() + " " + op.DTypesText(), [&] {
    Problem problem;
    problem.operands = {{DNNL_ARG_SRC, false, 0, x},
                        {DNNL_ARG_SCALE, false, 1, MdOf(op.inputs()[1])},
                        {DNNL_ARG_SHIFT, false, 2, MdOf(op.inputs()[2])},
                        {DNNL_ARG_DST, true, 0, x}};
    problem.descriptor = BatchNormDescriptor(engine, kind, x, eps, kScaleAndShift | more, StrictAttributes());
    return problem;
  });
}

Problem BatchNormProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  Problem problem =
      MakeChannelNorm(op, engine, kInference, MdOf(op.inputs()[0]), dnnl::normalization_flags::use_global_stats);
  problem.operands.push_back({DNNL_ARG_MEAN, false, 3, MdOf(op.inputs()[3])});
  problem.operands.push_back({DNNL_ARG_VARIANCE, false, 4, MdOf(op.inputs()[4])});
  return problem;
}

// oneDNN gives the statistics of the batch; to move the running ones is for its caller.
Problem BatchNormTrainingProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const plugin::Tensor &x = op.inputs()[0], &running = op.inputs()[3];
  const auto momentum = static_cast<float>(op.AttrFloat("momentum"));
  const auto count = static_cast<float>(x.shape[0] * x.shape[2]);
  const float counted = op.AttrInt("population") != 0 ? 1 : count / (count - 1);
  Problem problem = MakeChannelNorm(op, engine, kTraining, MdOf(x));
  problem.lent = {{DNNL_ARG_MEAN, MdOf(running)}, {DNNL_ARG_VARIANCE, MdOf(running)}};
  const auto channels = static_cast<size_t>(x.shape[1]);
  problem.finish = [=](const Arguments& arguments, Problem::Tensors inputs, Problem::Tensors outputs) {
    const auto move = [&](size_t at, int argument, float factor) {
      const float* of_batch = static_cast<const float*>(arguments.at(argument).get_data_handle());
      std::transform(of_batch, of_batch + channels, FloatsOf(inputs[at + 2]), reinterpret_cast<float*>(outputs[at]),
                     [=](float batch, float old) { return (1 - momentum) * old + momentum * (batch * factor); });
    };
    move(1, DNNL_ARG_MEAN, 1);
    move(2, DNNL_ARG_VARIANCE, counted);
  };
  return problem;
}

Problem InstanceNormProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const plugin::Tensor& x = op.inputs()[0];
  const int64_t samples = x.shape[0], channels = x.shape[1], positions = x.shape[2];
  const Md whole({1, samples * channels, positions}, *DataType(IsComputed(x.dtype) ? x.dtype : plugin::kF32),
                 dnnl::memory::dims{samples * channels * positions, positions, 1});
  Problem problem = MakeChannelNorm(op, engine, kInference, whole);
  const Md repeated({samples * channels}, dnnl::memory::data_type::f32, dnnl::memory::dims{1});
  std::erase_if(problem.operands, [](const Operand& operand) { return !operand.is_output && operand.index > 0; });
  problem.lent = {{DNNL_ARG_SCALE, repeated}, {DNNL_ARG_SHIFT, repeated}};
  problem.begin = [=](const Arguments& arguments, Problem::Tensors inputs, Problem::Tensors) {
    const auto repeat = [&](size_t input, int argument) {
      auto* to = static_cast<float*>(arguments.at(argument).get_data_handle());
      for (int64_t n = 0; n < samples; ++n) to = std::copy_n(FloatsOf(inputs[input]), channels, to);
    };
    repeat(1, DNNL_ARG_SCALE);
    repeat(2, DNNL_ARG_SHIFT);
  };
  return problem;
}

constexpr Row kChannelNormRows[] = {
    {{"batch_norm", kOneDnnTypes, "", plugin::kDense}, ChannelNormContract, Alone<BatchNormProblem>},
    {{"batch_norm_training", kOneDnnTypes, "", plugin::kDense}, ChannelNormContract, Alone<BatchNormTrainingProblem>},
    {{"instance_norm", kOneDnnTypes, "", plugin::kDense}, ChannelNormContract, Alone<InstanceNormProblem>},
};

}  // namespace

std::span<const Row> ChannelNormRows() {
  return kChannelNormRows;
}

}  // namespace onednn
