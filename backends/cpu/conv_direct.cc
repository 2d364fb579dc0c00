// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/conv.h"
#include "backends/cpu/conv_kernel.h"
#include "backends/cpu/conv_operands.h"
#include "backends/cpu/workspace.h"

namespace cpu {
namespace {

static_assert(kConvOutputs == kTileRows, "w is padded to kTileRows outputs");

template <class Acc>
class DirectPlan : public plugin::HostPlan {
 public:
  explicit DirectPlan(const plugin::ConvSpec& spec) : spec_(spec), operands_(spec), threads_(ConvThreads(spec)) {
    for (int64_t t = 0; t < spec.kernel[2]; ++t) last_axis_.push_back(PlanTap(t));
    sums_.assign(static_cast<size_t>(threads_), std::vector<Acc>(static_cast<size_t>(kConvOutputs * spec.out[2])));
  }

  plugin::PlanInfo Info() const override {
    return {
        operands_.Bytes() + BytesOf(last_axis_) + BytesOfEach(sums_, [](const auto& sums) { return BytesOf(sums); }),
        "", ""};
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    operands_.Load(inputs, threads_);
    const int64_t blocks = operands_.PaddedOutputs() / kConvOutputs;
    ParallelFor(spec_.n * spec_.groups * blocks, threads_, [&](int64_t i, int slot) {
      const int64_t image = i / blocks / spec_.groups, group = i / blocks % spec_.groups;
      ComputeBlock(outputs[0], image, group, i % blocks * kConvOutputs, sums_[static_cast<size_t>(slot)]);
    });
  }

 private:
  // A tap along the last axis: outputs [begin, end) read its phase from element begin + shift on.
  struct Tap {
    int64_t phase = 0, shift = 0, begin = 0, end = 0;
  };

  Tap PlanTap(int64_t t) const {
    const int64_t step = spec_.stride[2], source = spec_.Source(2, 0, t);
    Tap tap;
    tap.phase = (source % step + step) % step;
    tap.shift = (source - tap.phase) / step;
    tap.begin = std::max<int64_t>(0, -tap.shift);
    const int64_t size = tap.phase < spec_.in[2] ? (spec_.in[2] - tap.phase + step - 1) / step : 0;
    tap.end = std::max(tap.begin, std::min(spec_.out[2], size - tap.shift));
    return tap;
  }

  // All rows of kConvOutputs outputs, from `first` of the group on.
  void ComputeBlock(std::byte* y, int64_t image, int64_t group, int64_t first, std::vector<Acc>& sums) const {
    const int64_t outputs = std::min(kConvOutputs, spec_.GroupOutputs() - first);
    for (int64_t row = 0; row < spec_.out[0] * spec_.out[1]; ++row) {
      const int64_t p0 = row / spec_.out[1], p1 = row % spec_.out[1];
      std::fill(sums.begin(), sums.end(), Acc{0});
      for (int64_t c = 0; c < spec_.GroupInputs(); ++c) {
        const Acc* weights = operands_.Weights(group) + first * spec_.Terms() + c * spec_.Taps();
        AddChannel(image * spec_.c + group * spec_.GroupInputs() + c, p0, p1, weights, sums.data());
      }
      for (int64_t r = 0; r < outputs; ++r) {
        const int64_t o = group * spec_.GroupOutputs() + first + r;
        Acc* line = sums.data() + r * spec_.out[2];
        if (spec_.has_bias) {
          for (int64_t p = 0; p < spec_.out[2]; ++p) line[p] += operands_.Bias(o);
        }
        StoreConvRow(spec_, y, image, o, {p0, p1, 0}, line, spec_.out[2]);
      }
    }
  }

  void AddChannel(int64_t channel, int64_t p0, int64_t p1, const Acc* weights, Acc* sums) const {
    for (int64_t t0 = 0; t0 < spec_.kernel[0]; ++t0) {
      if (!spec_.Sees(0, p0, t0)) continue;
      for (int64_t t1 = 0; t1 < spec_.kernel[1]; ++t1) {
        if (!spec_.Sees(1, p1, t1)) continue;
        const Acc* row = operands_.Row(channel, spec_.Source(0, p0, t0), spec_.Source(1, p1, t1));
        const Acc* tap_weights = weights + (t0 * spec_.kernel[1] + t1) * spec_.kernel[2];
        for (int64_t t2 = 0; t2 < spec_.kernel[2]; ++t2) {
          const Tap& tap = last_axis_[static_cast<size_t>(t2)];
          if (tap.begin == tap.end) continue;
          AddTap(TapUpdate<Acc>{row + tap.phase * operands_.PhaseSize() + tap.begin + tap.shift, tap_weights + t2,
                                spec_.Terms(), sums + tap.begin, spec_.out[2], tap.end - tap.begin});
        }
      }
    }
  }

  const plugin::ConvSpec spec_;
  ConvOperands<Acc> operands_;
  int threads_;
  std::vector<Tap> last_axis_;
  std::vector<std::vector<Acc>> sums_;  // one per thread: [kConvOutputs, out[2]]
};

}  // namespace

std::unique_ptr<plugin::Plan> CreateConvDirect(plugin::HostDevice&, const plugin::OpDesc& op) {
  return MakeConvPlan<DirectPlan>(plugin::ParseConv(op));
}

}  // namespace cpu
