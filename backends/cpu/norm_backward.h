// SPDX-License-Identifier: Apache-2.0
// Gradients of layer_norm: dx is of rows, dgamma and dbeta are sums over them. By rows everything is added in order; by
// blocks as GPUs do, lanes of a row and blocks of rows each to a sum of their own, and then these.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/common/host.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/matrix.h"
#include "backends/cpu/norms.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/rows.h"

namespace cpu {

// dy, x: [rows,n]; mean, rstd: [rows]; gamma: [n] -> dx: [rows,n]; dgamma, dbeta: [n].
template <class Acc, bool kByBlocks>
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
    // Each column's terms are added in an order of their own, whatever the number of threads.
    constexpr int64_t kRowsOfBlock = kByBlocks ? 32 : INT64_MAX;
    for (int64_t row = 0; row < rows_;) {
      std::vector<Acc> gamma_of_block(columns), beta_of_block(columns);
      for (int64_t last = row + std::min(rows_ - row, kRowsOfBlock); row < last; ++row) {
        for (int64_t i = 0; i < n_; ++i) {
          const Acc dy = x[0][row * n_ + i];
          gamma_of_block[i] += dy * ((x[1][row * n_ + i] - x[2][row]) * x[3][row]);
          beta_of_block[i] += dy;
        }
      }
      std::ranges::transform(dgamma, gamma_of_block, dgamma.begin(), std::plus());
      std::ranges::transform(dbeta, beta_of_block, dbeta.begin(), std::plus());
    }
    StoreMatrix(outputs_[0], dx, outputs[0]);
    StoreMatrix(outputs_[1], dgamma, outputs[1]);
    StoreMatrix(outputs_[2], dbeta, outputs[2]);
  }

 private:
  void RowOf(const std::vector<std::vector<Acc>>& x, int64_t row, std::span<Acc> dx) const {
    const Acc mean = x[2][row], rstd = x[3][row];
    std::vector<Acc> g(dx.size()), z(dx.size()), products(dx.size());
    for (int64_t i = 0; i < n_; ++i) {
      g[i] = x[0][row * n_ + i] * x[4][i];
      z[i] = (x[1][row * n_ + i] - mean) * rstd;
      products[i] = g[i] * z[i];
    }
    const Acc mean_g = MeanOf(g), mean_gz = MeanOf(products);
    for (int64_t i = 0; i < n_; ++i) dx[i] = rstd * (g[i] - mean_g - z[i] * mean_gz);
  }

  static Acc MeanOf(std::span<const Acc> x) {
    const auto same = [](Acc value) { return value; };
    return (kByBlocks ? SumOf<StridedFold>(x, same) : SumOf<SequentialFold>(x, same)) / static_cast<Acc>(x.size());
  }

  std::vector<plugin::Tensor> inputs_, outputs_;
  int64_t rows_, n_;
  int threads_ = 1;
};

// The functions of Rows, for a kernel that does not work by rows.
template <bool kByBlocks>
struct LayerNormBackward {
  static size_t Outputs(const plugin::OpDesc&) { return 3; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  explicit LayerNormBackward(const plugin::OpDesc&) {}
  static std::unique_ptr<plugin::Plan> Create(plugin::HostDevice&, const plugin::OpDesc& op) {
    if (Rows<LayerNormBackward>::IsF64(op)) return std::make_unique<LayerNormBackwardPlan<double, kByBlocks>>(op);
    return std::make_unique<LayerNormBackwardPlan<float, kByBlocks>>(op);
  }
};

}  // namespace cpu
