// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cudnn_graph.h"

#include <algorithm>
#include <utility>

#include "backends/common/status.h"

namespace cuda_backend {
namespace {

constexpr int64_t kMostEngines = 8;

OperationGraph::Extents DenseStrides(const OperationGraph::Extents& extents) {
  return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
}

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  Cudnn::Check(Cudnn::Get().BackendCreate(type, &descriptor_), "cudnnBackendCreateDescriptor");
}

Descriptor::Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Descriptor::~Descriptor() {
  if (descriptor_ != nullptr) (void)Cudnn::Get().BackendDestroy(descriptor_);
}

Descriptor& Descriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                            const void* values) {
  Cudnn::Check(Cudnn::Get().BackendSet(descriptor_, name, type, count, values), "cudnnBackendSetAttribute");
  return *this;
}

Descriptor& Descriptor::Finalize() {
  Cudnn::Check(Cudnn::Get().BackendFinalize(descriptor_), "cudnnBackendFinalize");
  return *this;
}

OperationGraph::Tensor OperationGraph::Add(Kind kind, cudnnDataType_t type, const Extents& extents,
                                           const Extents& strides) {
  tensors_.push_back({kind, type, extents, strides});
  return tensors_.size() - 1;
}

OperationGraph::Tensor OperationGraph::AddVirtual(cudnnDataType_t type, const Extents& extents) {
  return Add(Kind::kVirtual, type, extents, DenseStrides(extents));
}

OperationGraph::Tensor OperationGraph::Operand(cudnnDataType_t type, const Extents& shape, const Extents& strides) {
  return Add(Kind::kOperand, type, shape, strides);
}

OperationGraph::Tensor OperationGraph::Value(float value) {
  scalars_.push_back({.f = value});
  return Add(Kind::kValue, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1});
}

OperationGraph::Tensor OperationGraph::Value(int32_t value) {
  scalars_.push_back({.i = value});
  return Add(Kind::kValue, CUDNN_DATA_INT32, {1, 1, 1, 1}, {1, 1, 1, 1});
}

OperationGraph::Tensor OperationGraph::AddPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t type,
                                                    std::initializer_list<Tensor> inputs, int64_t axis) {
  constexpr std::array kNames{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                              CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  Operation operation{CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                      CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
                      {},
                      CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR};
  size_t i = 0;
  for (const Tensor input : inputs) operation.tensors.emplace_back(kNames[i++], input);
  const Tensor result = AddVirtual(type, tensors_[*inputs.begin()].extents);
  operation.tensors.emplace_back(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
  operation.mode = mode, operation.precision = type, operation.axis = axis;
  operations_.push_back(std::move(operation));
  return result;
}

OperationGraph::Tensor OperationGraph::ReduceRows(cudnnReduceTensorOp_t kind, Tensor x) {
  Extents extents = tensors_[x].extents;
  extents[3] = 1;
  const Tensor result = AddVirtual(CUDNN_DATA_FLOAT, extents);
  Operation operation{CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
                      CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
                      {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x}, {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result}},
                      CUDNN_ATTR_OPERATION_REDUCTION_DESC};
  operation.reduction = kind;
  operations_.push_back(std::move(operation));
  return result;
}

OperationGraph::Tensor OperationGraph::Product(Tensor a, Tensor b) {
  Extents extents = tensors_[a].extents;
  extents[3] = tensors_[b].extents[3];
  const Tensor result = AddVirtual(CUDNN_DATA_FLOAT, extents);
  ProductInto(a, b, result);
  return result;
}

void OperationGraph::ProductInto(Tensor a, Tensor b, Tensor result) {
  operations_.push_back({CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
                         CUDNN_BACKEND_MATMUL_DESCRIPTOR,
                         {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
                          {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
                          {CUDNN_ATTR_OPERATION_MATMUL_CDESC, result}},
                         CUDNN_ATTR_OPERATION_MATMUL_DESC});
}

Descriptor OperationGraph::Describe(const Shape& shape, int64_t id) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  made.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, shape.type);
  made.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, shape.extents.data());
  made.Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, shape.strides.data());
  made.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kOperandAlignment);
  made.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, shape.kind == Kind::kVirtual);
  made.Set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, shape.kind == Kind::kValue);
  made.Finalize();
  return made;
}

// Describes an operation without its tensors.
Descriptor OperationGraph::Describe(const Operation& operation) {
  Descriptor made(operation.what_type);
  if (operation.what_type == CUDNN_BACKEND_POINTWISE_DESCRIPTOR) {
    made.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, operation.mode);
    made.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, operation.precision);
    if (operation.axis >= 0) made.Set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, operation.axis);
  } else if (operation.what_type == CUDNN_BACKEND_REDUCTION_DESCRIPTOR) {
    made.Set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, operation.reduction);
    made.Set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, operation.precision);
  } else {
    made.Set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, operation.precision);
  }
  made.Finalize();
  return made;
}

Descriptor OperationGraph::Describe(cudnnHandle_t handle) const {
  std::vector<Descriptor> tensors, operations;
  for (Tensor t = 0; t < tensors_.size(); ++t) tensors.push_back(Describe(tensors_[t], static_cast<int64_t>(t) + 1));
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Operation& operation : operations_) {
    Descriptor made(operation.type);
    made.Set(operation.what_name, Describe(operation));
    for (const auto& [name, tensor] : operation.tensors) made.Set(name, tensors[tensor]);
    made.Finalize();
    raw.push_back(made.get());
    operations.push_back(std::move(made));
  }
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle != nullptr) graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(raw), raw.data());
  graph.Finalize();
  return graph;
}

std::vector<Descriptor> OperationGraph::Engines(const GraphTarget& target) const {
  const Descriptor graph = Describe(target.handle);
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (target.described != nullptr) heuristic.Set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.described);
  heuristic.Finalize();
  std::vector<Descriptor> engines;
  std::array<cudnnBackendDescriptor_t, kMostEngines> raw{};
  for (cudnnBackendDescriptor_t& one : raw) {
    engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    one = engines.back().get();
  }
  int64_t count = 0;
  Cudnn::Check(Cudnn::Get().BackendGet(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                       kMostEngines, &count, raw.data()),
               "engine configurations of a graph");
  engines.erase(engines.begin() + std::clamp(count, int64_t{0}, kMostEngines), engines.end());
  return engines;
}

Descriptor OperationGraph::Compile(const GraphTarget& target) const {
  const std::vector<Descriptor> engines = Engines(target);
  for (const Descriptor& engine : engines) {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (target.handle != nullptr) plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    if (target.described != nullptr) plan.Set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.described);
    plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
    if (Cudnn::Get().BackendFinalize(plan.get()) == CUDNN_STATUS_SUCCESS) return plan;
  }
  throw plugin::Unsupported("none of the {} engines that cuDNN proposes takes these operands", engines.size());
}

void OperationGraph::Execute(cudnnHandle_t handle, const Descriptor& plan, std::span<void* const> operands,
                             void* workspace) {
  std::vector<int64_t> ids;
  std::vector<void*> data;
  size_t operand = 0, scalar = 0;
  for (Tensor t = 0; t < tensors_.size(); ++t) {
    if (tensors_[t].kind == Kind::kVirtual) continue;
    ids.push_back(static_cast<int64_t>(t) + 1);
    data.push_back(tensors_[t].kind == Kind::kOperand ? operands[operand++] : &scalars_[scalar++]);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, std::ssize(ids), ids.data());
  pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::ssize(data), data.data());
  pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.Finalize();
  Cudnn::Check(Cudnn::Get().BackendExecute(handle, plan.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace cuda_backend
