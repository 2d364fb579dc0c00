// SPDX-License-Identifier: Apache-2.0
// Matmuls by OpenBLAS, as a prototype that stands on it would have them: its kernels are those of the processor that
// OPENBLAS_CORETYPE names. The device says which that is.
#include <cblas.h>
#include <fmt/format.h>

#include "backends/common/backend.h"
#include "backends/common/host.h"
#include "backends/common/matmul_spec.h"
#include "backends/common/status.h"

namespace {

using plugin::MatmulSpec;
using plugin::Matrix;
using plugin::OpDesc;

// A matrix as BLAS takes it: rows one after the other, or columns.
struct Layout {
  bool fits = false;
  CBLAS_TRANSPOSE transposed = CblasNoTrans;
  blasint leading = 0;
};

Layout LayoutOf(const Matrix& matrix, int64_t rows, int64_t columns) {
  if ((columns == 1 || matrix.column_stride == 1) && (rows == 1 || matrix.row_stride >= columns)) {
    return {true, CblasNoTrans, static_cast<blasint>(rows == 1 ? columns : matrix.row_stride)};
  }
  if ((rows == 1 || matrix.row_stride == 1) && (columns == 1 || matrix.column_stride >= rows)) {
    return {true, CblasTrans, static_cast<blasint>(columns == 1 ? rows : matrix.column_stride)};
  }
  return {};
}

class Product : public plugin::HostPlan {
 public:
  explicit Product(const OpDesc& op) : spec_(plugin::ParseMatmul(op)) {
    const bool is_f32 = op.AllTypes([](plugin::DType type) { return type == plugin::kF32; });
    const bool is_f64 = op.AllTypes([](plugin::DType type) { return type == plugin::kF64; });
    if (!is_f32 && !is_f64) throw plugin::Unsupported("{}: only f32 and f64", op.DTypesText());
    if (spec_.alpha != 1 || spec_.beta != 0 || spec_.bias.input >= 0 || spec_.IsEmpty()) {
      throw plugin::Unsupported("only A B, with at least one element");
    }
    a_ = LayoutOf(spec_.a, spec_.m, spec_.k), b_ = LayoutOf(spec_.b, spec_.k, spec_.n);
    y_ = LayoutOf(spec_.y, spec_.m, spec_.n);
    if (!a_.fits || !b_.fits || !y_.fits || y_.transposed != CblasNoTrans) {
      throw plugin::Unsupported("only matrices with contiguous rows or columns, and outputs with contiguous rows");
    }
  }

  bool IsF64() const { return spec_.IsF64(); }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    if (spec_.IsF64()) return Multiply<double>(inputs, outputs);
    Multiply<float>(inputs, outputs);
  }

 private:
  static auto GemmOf(float) { return cblas_sgemm; }
  static auto GemmOf(double) { return cblas_dgemm; }

  template <class T>
  void Multiply(Pointers inputs, Pointers outputs) const {
    for (int64_t i = 0; i < spec_.batch; ++i) {
      const T* a = reinterpret_cast<const T*>(inputs[spec_.a.input]) + i * spec_.a.batch_stride;
      const T* b = reinterpret_cast<const T*>(inputs[spec_.b.input]) + i * spec_.b.batch_stride;
      T* y = reinterpret_cast<T*>(outputs[0]) + i * spec_.y.batch_stride;
      GemmOf(T{})(CblasRowMajor, a_.transposed, b_.transposed, static_cast<blasint>(spec_.m),
                  static_cast<blasint>(spec_.n), static_cast<blasint>(spec_.k), 1, a, a_.leading, b, b_.leading, 0, y,
                  y_.leading);
    }
  }

  MatmulSpec spec_;
  Layout a_, b_, y_;
};

class OpenBlasDevice : public plugin::HostDevice {
 public:
  std::vector<plugin::Implementation> Query(const OpDesc& op) override {
    if (op.name() != "matmul") throw plugin::Unsupported("only matmul");
    return {{"gemm", Product(op).IsF64() ? "f64" : "f32acc"}};
  }
  std::unique_ptr<plugin::Plan> CreatePlan(const OpDesc& op, const std::string&) override {
    return std::make_unique<Product>(op);
  }
};

class OpenBlas : public plugin::Backend {
 public:
  OpenBlas() { openblas_set_num_threads(1); }
  plugin::BackendInfo Info() override { return {"openblas", "OpenBLAS", "1", openblas_get_config()}; }
  std::vector<plugin::DeviceInfo> Devices() override {
    plugin::DeviceInfo host;
    host.name = "OpenBLAS";
    host.properties = fmt::format("core={}", openblas_get_corename());
    return {host};
  }
  std::unique_ptr<plugin::Device> Open(uint32_t) override { return std::make_unique<OpenBlasDevice>(); }
};

}  // namespace

ASSAY_PLUGIN(OpenBlas)
