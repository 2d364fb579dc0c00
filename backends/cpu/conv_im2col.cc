// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/conv.h"
#include "backends/cpu/conv_operands.h"
#include "backends/cpu/workspace.h"

namespace cpu {
namespace {

constexpr int64_t kPanelTerms = 256;

template <class Acc>
class Im2colPlan : public plugin::HostPlan {
 public:
  explicit Im2colPlan(const plugin::ConvSpec& spec) : spec_(spec), operands_(spec), threads_(ConvThreads(spec)) {
    slots_.resize(static_cast<size_t>(threads_));
    for (Slot& slot : slots_) {
      slot.patches.resize(static_cast<size_t>(spec.Terms() * kTileColumns));
      slot.product.resize(static_cast<size_t>(operands_.PaddedOutputs() * kTileColumns));
    }
  }

  plugin::PlanInfo Info() const override {
    return {operands_.Bytes() + BytesOfEach(slots_, [](const Slot& s) { return BytesOf(s.patches, s.product); }), "",
            ""};
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    operands_.Load(inputs, threads_);
    const int64_t tiles = (spec_.Positions() + kTileColumns - 1) / kTileColumns;
    ParallelFor(spec_.n * spec_.groups * tiles, threads_, [&](int64_t i, int slot) {
      const int64_t image = i / tiles / spec_.groups, group = i / tiles % spec_.groups;
      ComputeTile(outputs[0], image, group, i % tiles * kTileColumns, slots_[static_cast<size_t>(slot)]);
    });
  }

 private:
  struct Slot {
    std::vector<Acc> patches;  // [terms, kTileColumns]
    std::vector<Acc> product;  // [padded outputs, kTileColumns]
  };

  void ComputeTile(std::byte* y, int64_t image, int64_t group, int64_t first, Slot& slot) const {
    const int64_t count = std::min(kTileColumns, spec_.Positions() - first);
    Gather(image * spec_.c + group * spec_.GroupInputs(), first, count, slot.patches.data());
    for (int64_t k = 0; k < spec_.Terms(); k += kPanelTerms) {
      MultiplyPanel(PanelProduct<Acc>{operands_.Weights(group) + k, spec_.Terms(),
                                      slot.patches.data() + k * kTileColumns, operands_.PaddedOutputs(),
                                      std::min(kPanelTerms, spec_.Terms() - k), slot.product.data(), kTileColumns,
                                      k > 0});
    }
    for (int64_t r = 0; r < spec_.GroupOutputs(); ++r) {
      const int64_t o = group * spec_.GroupOutputs() + r;
      Acc* row = slot.product.data() + r * kTileColumns;
      if (spec_.has_bias) {
        for (int64_t j = 0; j < count; ++j) row[j] += operands_.Bias(o);
      }
      StoreTile(y, image, o, first, count, row);
    }
  }

  plugin::Extents Split(int64_t position) const {
    return {position / spec_.out[2] / spec_.out[1], position / spec_.out[2] % spec_.out[1], position % spec_.out[2]};
  }

  // A tile's positions run over the ends of rows.
  void StoreTile(std::byte* y, int64_t image, int64_t o, int64_t first, int64_t count, const Acc* values) const {
    for (int64_t j = 0; j < count;) {
      const plugin::Extents p = Split(first + j);
      const int64_t run = std::min(count - j, spec_.out[2] - p[2]);
      StoreConvRow(spec_, y, image, o, p, values + j, run);
      j += run;
    }
  }

  void Gather(int64_t channel, int64_t first, int64_t count, Acc* to) const {
    std::fill(to, to + spec_.Terms() * kTileColumns, Acc{0});
    const int64_t step = spec_.stride[2], phase = operands_.PhaseSize();
    for (int64_t j = 0; j < count; ++j) {
      const plugin::Extents p = Split(first + j);
      for (int64_t k = 0; k < spec_.Terms(); ++k) {
        const int64_t tap = k % spec_.Taps(), t2 = tap % spec_.kernel[2];
        const int64_t t1 = tap / spec_.kernel[2] % spec_.kernel[1], t0 = tap / spec_.kernel[2] / spec_.kernel[1];
        if (!spec_.Sees(0, p[0], t0) || !spec_.Sees(1, p[1], t1) || !spec_.Sees(2, p[2], t2)) continue;
        const int64_t source = spec_.Source(2, p[2], t2);
        const Acc* row =
            operands_.Row(channel + k / spec_.Taps(), spec_.Source(0, p[0], t0), spec_.Source(1, p[1], t1));
        to[k * kTileColumns + j] = row[source % step * phase + source / step];
      }
    }
  }

  const plugin::ConvSpec spec_;
  ConvOperands<Acc> operands_;
  int threads_;
  std::vector<Slot> slots_;  // one per thread
};

}  // namespace

std::unique_ptr<plugin::Plan> CreateConvIm2col(plugin::HostDevice&, const plugin::OpDesc& op) {
  return MakeConvPlan<Im2colPlan>(plugin::ParseConv(op));
}

}  // namespace cpu
