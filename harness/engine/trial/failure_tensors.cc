// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/failure_tensors.h"

#include <algorithm>

#include "harness/core/data/safetensors.h"
#include "harness/judge/judge.h"

namespace assay {
namespace {

// The shape of `values` numbers about an output: its own, with a last axis of two where there is one per component.
Shape ShapeFor(const Shape& output, int64_t values) {
  Shape shape = output;
  if (values != NumElements(output)) shape.push_back(values / std::max<int64_t>(1, NumElements(output)));
  return shape;
}

// "value", or of several outputs "mean.value".
std::string PlaneName(const Problem& problem, size_t output, const char* plane) {
  return (problem.outputs.size() > 1 ? problem.outputs[output].name + "." : std::string()) + plane;
}

void AddPlane(const std::string& name, const Plane& plane, const Shape& output, std::vector<TensorRef>& tensors) {
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

Status WriteGoldenPlanes(const std::filesystem::path& path, const Problem& problem, const Goldens& goldens) {
  std::vector<TensorRef> tensors;
  for (size_t k = 0; k < goldens.size(); ++k) {
    const Golden& golden = *goldens[k];
    const Shape& output = problem.outputs[k].shape;
    const Shape shape = ShapeFor(output, golden.size());
    const auto name = [&](const char* plane) { return PlaneName(problem, k, plane); };
    tensors.push_back({name("value"), DType::kF64, shape, golden.value.data()});
    if (!golden.value_lo.empty()) tensors.push_back({name("value_lo"), DType::kF64, shape, golden.value_lo.data()});
    AddPlane(name("magnitude"), golden.magnitude, output, tensors);
    AddPlane(name("sigma"), golden.sigma, output, tensors);
    AddPlane(name("error"), golden.error, output, tensors);
  }
  return WriteSafetensors(path, tensors,
                          {{"case_id", problem.spec.Id()}, {"tier", std::string(Name(goldens[0]->tier))}});
}

Status WriteGot(const GotFile& file, const Goldens& goldens, const Bounds& bounds) {
  std::vector<TensorRef> tensors;
  std::vector<std::vector<double>> tolerances(goldens.size()), roundings(goldens.size());
  for (size_t k = 0; k < goldens.size(); ++k) {
    const Operand& output = file.problem.outputs[k];
    const ElementJudge judge(*goldens[k], *bounds[k], file.attempt.contract, output.dtype);
    for (const double got : file.kept.outputs[k].ToDoubles()) {
      const Judgement judged = judge.Judge(std::ssize(tolerances[k]), got);
      tolerances[k].push_back(judged.Tolerance());
      roundings[k].push_back(judged.rounding);
    }
    const Shape shape = ShapeFor(output.shape, goldens[k]->size());
    tensors.push_back({output.name, output.dtype, output.shape, file.kept.outputs[k].data()});
    tensors.push_back({PlaneName(file.problem, k, "bound"), DType::kF64, shape, tolerances[k].data()});
    tensors.push_back({PlaneName(file.problem, k, "rounding"), DType::kF64, shape, roundings[k].data()});
  }
  const Record& r = file.attempt.record;
  return WriteSafetensors(file.path, tensors,
                          {{"case_id", r.case_id},
                           {"backend", r.backend},
                           {"implementation", r.implementation},
                           {"contract", r.contract},
                           {"verdict", r.verdict},
                           {"reason", r.reason}});
}

uint64_t BytesOfSet(const Problem& problem, const Goldens& goldens) {
  uint64_t bytes = 0;
  for (const Golden* golden : goldens) {
    bytes += (golden->value.size() + golden->value_lo.size()) * sizeof(double) + PlaneBytes(golden->magnitude) +
             PlaneBytes(golden->sigma) + PlaneBytes(golden->error);
  }
  for (const Operand& input : problem.inputs) bytes += BytesOf(input);
  return bytes;
}

}  // namespace assay
