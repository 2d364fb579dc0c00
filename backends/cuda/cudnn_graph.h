// SPDX-License-Identifier: Apache-2.0
// cuDNN's graph API, without its C++ front end: operations on tensors, compiled into one plan.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <vector>

#include "backends/cuda/cudnn_library.h"

namespace cuda_backend {

// An owned descriptor. Its functions throw plugin::Error, Unsupported where cuDNN does not offer it.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values);
  template <class Value>
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    return Set(name, type, 1, &value);
  }
  Descriptor& Set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.get());
  }
  Descriptor& Finalize();

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// Device that a graph is compiled for: that of a handle, or one that is only described (CUDNN_BACKEND_DEVICEPROP) and
// need not be present.
struct GraphTarget {
  cudnnHandle_t handle = nullptr;
  const Descriptor* described = nullptr;
};

class OperationGraph {
 public:
  using Extents = std::array<int64_t, 4>;
  using Tensor = size_t;                            // of this graph
  static constexpr int64_t kOperandAlignment = 16;  // bytes

  // A tensor in memory: Execute gets the addresses of these, in the order in which they were made.
  Tensor Operand(cudnnDataType_t type, const Extents& shape, const Extents& strides);
  Tensor Value(float value);
  Tensor Value(int32_t value);

  // Works element by element in f32; extents of 1 are broadcast.
  Tensor Pointwise(cudnnPointwiseMode_t mode, Tensor x) { return AddPointwise(mode, CUDNN_DATA_FLOAT, {x}); }
  Tensor Pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b) {
    return AddPointwise(mode, CUDNN_DATA_FLOAT, {x, b});
  }
  // Adds or subtracts in i32, by `mode`.
  Tensor IndexSum(cudnnPointwiseMode_t mode, Tensor x, Tensor b) {
    return AddPointwise(mode, CUDNN_DATA_INT32, {x, b});
  }
  // The index of each element along an axis, as a tensor shaped like x.
  Tensor Index(Tensor x, int64_t axis) { return AddPointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, {x}, axis); }
  Tensor Compare(cudnnPointwiseMode_t mode, Tensor x, Tensor b) {
    return AddPointwise(mode, CUDNN_DATA_BOOLEAN, {x, b});
  }
  Tensor Select(Tensor where, Tensor x, Tensor otherwise) {
    return AddPointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, {x, otherwise, where});
  }
  // Rounds x to a type.
  void Round(Tensor x, cudnnDataType_t type) { tensors_[x].type = type; }
  Tensor ReduceRows(cudnnReduceTensorOp_t kind, Tensor x);
  // a[..., m, k] b[..., k, n], summed in f32.
  Tensor Product(Tensor a, Tensor b);
  void ProductInto(Tensor a, Tensor b, Tensor result);

  // Engine configurations for Compile that cuDNN proposes, best first.
  std::vector<Descriptor> Engines(const GraphTarget& target) const;
  // The plan of the first engine that makes one. Throws Unsupported when there is none.
  Descriptor Compile(const GraphTarget& target) const;
  void Execute(cudnnHandle_t handle, const Descriptor& plan, std::span<void* const> operands, void* workspace);

 private:
  enum class Kind { kOperand, kValue, kVirtual };
  struct Shape {
    Kind kind = Kind::kVirtual;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    Extents extents{}, strides{};
  };
  struct Operation {
    cudnnBackendDescriptorType_t type, what_type;
    std::vector<std::pair<cudnnBackendAttributeName_t, Tensor>> tensors;
    cudnnBackendAttributeName_t what_name;
    cudnnPointwiseMode_t mode{};
    cudnnReduceTensorOp_t reduction{};
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    int64_t axis = -1;
  };
  union Scalar {
    float f;
    int32_t i;
  };

  Tensor Add(Kind kind, cudnnDataType_t type, const Extents& extents, const Extents& strides);
  Tensor AddVirtual(cudnnDataType_t type, const Extents& extents);
  Tensor AddPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t type, std::initializer_list<Tensor> inputs,
                      int64_t axis = -1);
  Descriptor Describe(cudnnHandle_t handle) const;
  static Descriptor Describe(const Shape& shape, int64_t id);
  static Descriptor Describe(const Operation& operation);

  std::vector<Shape> tensors_;
  std::vector<Operation> operations_;
  std::deque<Scalar> scalars_;  // in the order of their tensors
};

}  // namespace cuda_backend
