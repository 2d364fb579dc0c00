// SPDX-License-Identifier: Apache-2.0
// The backend of vendor_backend.c on the C++ adapter, which checks every argument, keeps exceptions inside and provides
// host memory: only a table of implementations remains.
#include "backends/common/backend.h"
#include "backends/common/host.h"
#include "backends/common/table.h"

namespace {

class Matmul : public plugin::HostPlan {
 public:
  explicit Matmul(const plugin::OpDesc& op) : a_(op.inputs()[0]), b_(op.inputs()[1]), y_(op.outputs()[0]) {}

 private:
  static float& At(std::byte* base, const plugin::Tensor& t, int64_t i, int64_t j) {
    return reinterpret_cast<float*>(base)[i * t.strides[0] + j * t.strides[1]];
  }
  void Run(Pointers inputs, Pointers outputs) override {
    for (int64_t i = 0; i < y_.shape[0]; ++i) {
      for (int64_t j = 0; j < y_.shape[1]; ++j) {
        float sum = 0;
        for (int64_t p = 0; p < a_.shape[1]; ++p) sum += At(inputs[0], a_, i, p) * At(inputs[1], b_, p, j);
        At(outputs[0], y_, i, j) = sum;
      }
    }
  }
  plugin::Tensor a_, b_, y_;
};

bool IsMatrixF32(const plugin::Tensor& t) {
  return t.Rank() == 2 && t.dtype.code == ASSAY_TYPE_FLOAT && t.dtype.bits == 32;
}

std::string WhyNot(const plugin::OpDesc& op) {
  if (op.inputs().size() != 2) return "only y = a b is offered, without c and bias";
  if (!IsMatrixF32(op.inputs()[0]) || !IsMatrixF32(op.inputs()[1])) return "only f32 matrices are offered";
  // The operands tell these.
  op.MayIgnore({"m", "n", "k", "batch", "beta", "bias", "epilogue"});
  if (op.AttrInt("transa") != 0 || op.AttrInt("transb") != 0) return "transposed operands are not offered";
  return op.AttrFloat("alpha") == 1 ? "" : "only alpha = 1 is offered";
}

constexpr plugin::DType kTypes[] = {plugin::kF32};
constexpr plugin::Row<plugin::HostDevice> kRows[] = {
    {{"matmul", kTypes, "loops"},
     [](const plugin::OpDesc&) -> std::string { return "f32acc;det=yes"; },
     WhyNot,
     [](plugin::HostDevice&, const plugin::OpDesc& op) -> std::unique_ptr<plugin::Plan> {
       return std::make_unique<Matmul>(op);
     }},
};

class VendorDevice : public plugin::HostDevice {
 public:
  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override {
    return plugin::QueryTable<plugin::HostDevice>(kRows, op);
  }
  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& name) override {
    return plugin::CreateFromTable<plugin::HostDevice>(kRows, *this, op, name);
  }
};

class VendorBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override { return {"vendor_cxx", "Example Inc.", "1.0", ""}; }
  std::vector<plugin::DeviceInfo> Devices() override {
    return {{"Example 1", "1.0", ASSAY_DEVICE_EXT, 0, 1 << 30, "subnormals=kept"}};
  }
  std::unique_ptr<plugin::Device> Open(uint32_t) override { return std::make_unique<VendorDevice>(); }
};

}  // namespace

ASSAY_PLUGIN(VendorBackend)
