// SPDX-License-Identifier: Apache-2.0
#include "harness/run/failure_tensors.h"

#include <algorithm>

#include "harness/data/safetensors.h"
#include "harness/judge/judge.h"

namespace assay {
namespace {

// The shape of `values` numbers about an output: its own, with a last axis of two where there is one per component.
Shape ShapeFor(const Shape& output, int64_t values) {
  Shape shape = output;
  if (values != NumElements(output)) shape.push_back(values / std::max<int64_t>(1, NumElements(output)));
  return shape;
}

void AddPlane(const char* name, const Plane& plane, const Shape& output, std::vector<TensorRef>& tensors) {
  if (plane.empty()) return;
  const void* data = plane.wide() ? static_cast<const void*>(plane.f64().data()) : plane.f32().data();
  tensors.push_back({name, plane.wide() ? DType::kF64 : DType::kF32, ShapeFor(output, plane.size()), data});
}

uint64_t PlaneBytes(const Plane& plane) {
  return static_cast<uint64_t>(plane.size()) * (plane.wide() ? sizeof(double) : sizeof(float));
}

}  // namespace

Status WriteOperands(const std::filesystem::path& path, const Problem& problem, const std::vector<Tensor>& inputs) {
  std::vector<TensorRef> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    tensors.push_back({problem.inputs[i].name, inputs[i].dtype(), inputs[i].shape(), inputs[i].data()});
  }
  return WriteSafetensors(path, tensors, {{"case_id", problem.spec.Id()}});
}

Status WriteGoldenPlanes(const std::filesystem::path& path, const Problem& problem, const Golden& golden) {
  const Shape& output = problem.output.shape;
  const Shape shape = ShapeFor(output, golden.size());
  std::vector<TensorRef> tensors = {{"value", DType::kF64, shape, golden.value.data()}};
  if (!golden.value_lo.empty()) tensors.push_back({"value_lo", DType::kF64, shape, golden.value_lo.data()});
  AddPlane("magnitude", golden.magnitude, output, tensors);
  AddPlane("sigma", golden.sigma, output, tensors);
  AddPlane("error", golden.error, output, tensors);
  return WriteSafetensors(path, tensors, {{"case_id", problem.spec.Id()}, {"tier", std::string(Name(golden.tier))}});
}

Status WriteGot(const GotFile& file, const Golden& golden, const BoundModel& bound) {
  const Operand& output = file.problem.output;
  const ElementJudge judge(golden, bound, file.attempt.contract, output.dtype);
  std::vector<double> tolerance, rounding;
  for (const double got : file.kept.output.ToDoubles()) {
    const Judgement judged = judge.Judge(std::ssize(tolerance), got);
    tolerance.push_back(judged.Tolerance());
    rounding.push_back(judged.rounding);
  }
  const Shape shape = ShapeFor(output.shape, golden.size());
  const Record& r = file.attempt.record;
  return WriteSafetensors(file.path,
                          {{output.name, output.dtype, output.shape, file.kept.output.data()},
                           {"bound", DType::kF64, shape, tolerance.data()},
                           {"rounding", DType::kF64, shape, rounding.data()}},
                          {{"case_id", r.case_id},
                           {"backend", r.backend},
                           {"implementation", r.implementation},
                           {"contract", r.contract},
                           {"verdict", r.verdict},
                           {"reason", r.reason}});
}

uint64_t BytesOfSet(const Problem& problem, const Golden& golden) {
  uint64_t bytes = (golden.value.size() + golden.value_lo.size()) * sizeof(double) + PlaneBytes(golden.magnitude) +
                   PlaneBytes(golden.sigma) + PlaneBytes(golden.error);
  for (const Operand& o : problem.inputs) {
    bytes += static_cast<uint64_t>(NumElements(o.shape)) * static_cast<uint64_t>(SizeOf(o.dtype));
  }
  return bytes;
}

}  // namespace assay
