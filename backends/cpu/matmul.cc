// SPDX-License-Identifier: Apache-2.0
#include <type_traits>
#include <vector>

#include "backends/common/matmul_spec.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/matmul_kernel.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/workspace.h"

namespace cpu {
namespace {

using plugin::MatmulSpec;
using plugin::Matrix;

constexpr int64_t kBlockRows = 32;  // rows of A that one thread takes at a time
constexpr int64_t kPanel = 256;
constexpr int64_t kSplits = 4;
static_assert(kBlockRows % kTileRows == 0);

int64_t RoundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

template <class Acc>
class MatmulPlan : public plugin::HostPlan {
 public:
  MatmulPlan(const MatmulSpec& spec, KOrder order)
      : spec_(spec), panel_(spec.k), parts_(order == KOrder::kSplit ? kSplits : 1) {
    if (order == KOrder::kPanels) panel_ = kPanel;
    if (order == KOrder::kSplit) panel_ = RoundUp(spec.k, kSplits) / kSplits;
    columns_ = RoundUp(spec.n, kTileColumns);
    const double work = static_cast<double>(spec.m) * static_cast<double>(spec.n) * static_cast<double>(spec.k);
    threads_ = ThreadsFor(work);
    packed_b_.resize(static_cast<size_t>(columns_ * spec.k));
    slots_.resize(static_cast<size_t>(threads_));
    for (Slot& slot : slots_) {
      slot.a.resize(static_cast<size_t>(kBlockRows * spec.k));
      slot.product.resize(static_cast<size_t>(parts_ * kBlockRows * columns_));
      slot.addend.resize(static_cast<size_t>(spec.n));
    }
  }

  plugin::PlanInfo Info() const override {
    return {BytesOf(packed_b_) + BytesOfEach(slots_, [](const Slot& s) { return BytesOf(s.a, s.product, s.addend); }),
            "", ""};
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    for (int64_t batch = 0; batch < spec_.batch; ++batch) {
      const std::byte* b = At(spec_.b, inputs[1], batch, 0);
      ParallelFor(columns_ / kTileColumns, threads_, [&](int64_t tile, int) { PackTile(b, tile); });
      ParallelFor((spec_.m + kBlockRows - 1) / kBlockRows, threads_, [&](int64_t block, int slot) {
        ComputeBlock(inputs, outputs[0], batch, block * kBlockRows, slots_[static_cast<size_t>(slot)]);
      });
    }
  }

 private:
  struct Slot {
    std::vector<Acc> a;        // [kBlockRows, k]
    std::vector<Acc> product;  // [parts, kBlockRows, columns]
    std::vector<Acc> addend;   // [n], a row of c or the bias
  };

  static const std::byte* At(const Matrix& x, const std::byte* base, int64_t batch, int64_t row) {
    return base + (batch * x.batch_stride + row * x.row_stride) * plugin::Bytes(x.dtype);
  }

  // One column tile of B as [k, kTileColumns], zero beyond n: the kernel then needs no tail.
  void PackTile(const std::byte* b, int64_t tile) {
    const int64_t first = tile * kTileColumns;
    const int64_t count = std::min(kTileColumns, spec_.n - first);
    Acc* row = packed_b_.data() + first * spec_.k;
    b += first * spec_.b.column_stride * plugin::Bytes(spec_.b.dtype);
    for (int64_t k = 0; k < spec_.k; ++k, row += kTileColumns) {
      Load(spec_.b.dtype, At(spec_.b, b, 0, k), spec_.b.column_stride, count, row);
      std::fill(row + count, row + kTileColumns, Acc{0});
    }
  }

  void ComputeBlock(Pointers inputs, std::byte* y, int64_t batch, int64_t first_row, Slot& slot) {
    const int64_t rows = std::min(kBlockRows, spec_.m - first_row);
    for (int64_t r = 0; r < rows; ++r) {
      Load(spec_.a.dtype, At(spec_.a, inputs[0], batch, first_row + r), spec_.a.column_stride, spec_.k,
           slot.a.data() + r * spec_.k);
    }
    const int64_t padded = RoundUp(rows, kTileRows);
    std::fill(slot.a.data() + rows * spec_.k, slot.a.data() + padded * spec_.k, Acc{0});
    MultiplyBlock(padded, slot);
    for (int64_t r = 0; r < rows; ++r) {
      Acc* row = slot.product.data() + r * columns_;
      Epilogue(inputs, batch, first_row + r, row, slot.addend.data());
      std::byte* out = y + (At(spec_.y, y, batch, first_row + r) - y);
      Store(spec_.y.dtype, row, spec_.n, out, spec_.y.column_stride);
    }
  }

  void MultiplyBlock(int64_t rows, Slot& slot) const {
    const int64_t part_size = kBlockRows * columns_;
    for (int64_t first = 0; first < columns_; first += kTileColumns) {
      for (int64_t k = 0, panel = 0; k < spec_.k; k += panel_, ++panel) {
        const int64_t part = parts_ > 1 ? panel : 0;
        MultiplyPanel(PanelProduct<Acc>{slot.a.data() + k, spec_.k,
                                        packed_b_.data() + first * spec_.k + k * kTileColumns, rows,
                                        std::min(panel_, spec_.k - k), slot.product.data() + part * part_size + first,
                                        columns_, parts_ == 1 && panel > 0});
      }
    }
    if (parts_ > 1) CombineParts(rows * columns_, part_size, slot.product.data());
  }

  // part 0 = (part 0 + part 1) + (part 2 + part 3); a short k leaves fewer parts.
  void CombineParts(int64_t count, int64_t part_size, Acc* parts) const {
    const int64_t used = (spec_.k + panel_ - 1) / panel_;
    const auto add = [&](int64_t to, int64_t from) {
      if (from >= used) return;
      for (int64_t i = 0; i < count; ++i) parts[to * part_size + i] += parts[from * part_size + i];
    };
    add(0, 1), add(2, 3), add(0, 2);
  }

  void Epilogue(Pointers inputs, int64_t batch, int64_t row, Acc* values, Acc* addend) const {
    const Acc alpha = static_cast<Acc>(spec_.alpha);
    if (spec_.alpha != 1) {
      for (int64_t j = 0; j < spec_.n; ++j) values[j] *= alpha;
    }
    if (spec_.epilogue_rounded) RoundTo(spec_.y.dtype, values, spec_.n);
    AddScaled(spec_.c, static_cast<Acc>(spec_.beta), inputs, batch, row, values, addend);
    AddScaled(spec_.bias, Acc{1}, inputs, batch, row, values, addend);
  }

  // values += scale * one row of x. Integer sums wrap modulo 2^32, as the hardware's do.
  void AddScaled(const Matrix& x, Acc scale, Pointers inputs, int64_t batch, int64_t row, Acc* values,
                 Acc* addend) const {
    if (x.input < 0) return;
    Load(x.dtype, At(x, inputs[static_cast<size_t>(x.input)], batch, row), x.column_stride, spec_.n, addend);
    for (int64_t j = 0; j < spec_.n; ++j) {
      if constexpr (std::is_integral_v<Acc>) {
        values[j] = static_cast<Acc>(static_cast<int64_t>(values[j]) + static_cast<int64_t>(scale) * addend[j]);
      } else {
        values[j] += scale * addend[j];
      }
    }
  }

  const MatmulSpec spec_;
  int64_t panel_;  // extent of k that one kernel call sums
  int64_t parts_;  // sums kept apart until the end
  int64_t columns_ = 0;
  int threads_ = 1;
  std::vector<Acc> packed_b_;  // column tiles, each [k, kTileColumns]
  std::vector<Slot> slots_;    // one per thread
};

}  // namespace

std::unique_ptr<plugin::Plan> CreateMatmulPlan(const plugin::OpDesc& op, KOrder order) {
  const plugin::MatmulSpec spec = plugin::ParseMatmul(op);
  if (spec.IsInteger()) return std::make_unique<MatmulPlan<int32_t>>(spec, order);
  if (spec.IsF64()) return std::make_unique<MatmulPlan<double>>(spec, order);
  return std::make_unique<MatmulPlan<float>>(spec, order);
}

}  // namespace cpu
