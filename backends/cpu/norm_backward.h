// SPDX-License-Identifier: Apache-2.0
// Gradients of layer_norm: dx is of rows, dgamma and dbeta are sums over them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/common/host.h"
#include "backends/cpu/matrix.h"
#include "backends/cpu/rows.h"

namespace cpu {

// dy, x: [rows,n]; mean, rstd: [rows]; gamma: [n] -> dx: [rows,n]; dgamma, dbeta: [n].
template <class Acc>
class LayerNormBackwardPlan final : public plugin::HostPlan {
 public:
  explicit LayerNormBackwardPlan(const plugin::OpDesc& op)
      : inputs_(op.inputs()), outputs_(op.outputs()), rows_(op.inputs()[0].shape[0]), n_(op.inputs()[0].shape[1]) {
    threads_ = ThreadsFor(16 * static_cast<double>(rows_ * n_));
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    std::vector<std::vector<Acc>> x;
    for (size_t i = 0; i < inputs_.size(); ++i) x.push_back(LoadMatrix<Acc>(inputs_[i], inputs[i]));
    const auto columns = static_cast<size_t>(n_);
    std::vector<Acc> dx(static_cast<size_t>(rows_ * n_)), dgamma(columns), dbeta(columns);
    ParallelFor(rows_, threads_, [&](int64_t row, int) { RowOf(x, row, std::span(dx).subspan(row * n_, n_)); });
    // Each column's terms are added in the order of the rows, whatever the number of threads.
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t i = 0; i < n_; ++i) {
        const Acc dy = x[0][row * n_ + i];
        dgamma[i] += dy * ((x[1][row * n_ + i] - x[2][row]) * x[3][row]);
        dbeta[i] += dy;
      }
    }
    StoreMatrix(outputs_[0], dx, outputs[0]);
    StoreMatrix(outputs_[1], dgamma, outputs[1]);
    StoreMatrix(outputs_[2], dbeta, outputs[2]);
  }

 private:
  void RowOf(const std::vector<std::vector<Acc>>& x, int64_t row, std::span<Acc> dx) const {
    const Acc mean = x[2][row], rstd = x[3][row];
    Acc sum_g = 0, sum_gz = 0;
    for (int64_t i = 0; i < n_; ++i) {
      const Acc g = x[0][row * n_ + i] * x[4][i];
      sum_g += g;
      sum_gz += g * ((x[1][row * n_ + i] - mean) * rstd);
    }
    const Acc mean_g = sum_g / static_cast<Acc>(n_), mean_gz = sum_gz / static_cast<Acc>(n_);
    for (int64_t i = 0; i < n_; ++i) {
      const Acc z = (x[1][row * n_ + i] - mean) * rstd;
      dx[i] = rstd * (x[0][row * n_ + i] * x[4][i] - mean_g - z * mean_gz);
    }
  }

  std::vector<plugin::Tensor> inputs_, outputs_;
  int64_t rows_, n_;
  int threads_ = 1;
};

// As Rows has them, of a kernel that is none of rows alone.
struct LayerNormBackward {
  static constexpr int kMath = 0;
  static size_t Outputs(const plugin::OpDesc&) { return 3; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  explicit LayerNormBackward(const plugin::OpDesc&) {}
  static std::unique_ptr<plugin::Plan> Create(plugin::HostDevice&, const plugin::OpDesc& op) {
    if (Rows<LayerNormBackward>::IsF64(op)) return std::make_unique<LayerNormBackwardPlan<double>>(op);
    return std::make_unique<LayerNormBackwardPlan<float>>(op);
  }
};

}  // namespace cpu
