// SPDX-License-Identifier: Apache-2.0
// F(2 x 2, 3 x 3) with the points 0, 1, -1 (Lavin and Gray, arXiv 1509.09308): sixteen matrix products over the
// channels, [outputs, channels] by [channels, tiles], between U = G g G^T and V = B^T d B; y = A^T M A.
#include "backends/cpu/conv.h"
#include "backends/cpu/conv_operands.h"
#include "backends/cpu/workspace.h"

namespace cpu {
namespace {

constexpr int64_t kSide = 4, kElements = kSide * kSide, kTile = 2;

// (a, b, c) -> G (a, b, c)
template <class T>
void TransformWeights(T a, T b, T c, T* out, int64_t stride) {
  const T half{0.5};
  out[0] = a;
  out[stride] = half * a + half * b + half * c;
  out[2 * stride] = half * a - half * b + half * c;
  out[3 * stride] = c;
}

// d -> B^T d
template <class T>
void TransformInputs(const T* d, int64_t from, T* out, int64_t stride) {
  out[0] = d[0] - d[2 * from];
  out[stride] = d[from] + d[2 * from];
  out[2 * stride] = d[2 * from] - d[from];
  out[3 * stride] = d[from] - d[3 * from];
}

template <class Acc>
class WinogradPlan : public plugin::HostPlan {
 public:
  explicit WinogradPlan(const plugin::ConvSpec& spec)
      : spec_(spec),
        operands_(spec),
        threads_(ConvThreads(spec)),
        across_((spec.out[2] + kTile - 1) / kTile),
        tiles_((spec.out[1] + kTile - 1) / kTile * across_) {
    u_.resize(static_cast<size_t>(spec.groups * kElements * operands_.PaddedOutputs() * spec.GroupInputs()));
    slots_.resize(static_cast<size_t>(threads_));
    for (Slot& slot : slots_) {
      slot.v.resize(static_cast<size_t>(kElements * spec.GroupInputs() * kTileColumns));
      slot.m.resize(static_cast<size_t>(kElements * operands_.PaddedOutputs() * kTileColumns));
    }
  }

  plugin::PlanInfo Info() const override {
    return {operands_.Bytes() + BytesOf(u_) + BytesOfEach(slots_, [](const Slot& s) { return BytesOf(s.v, s.m); }), "",
            ""};
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    operands_.Load(inputs, threads_);
    ParallelFor(spec_.groups * operands_.PaddedOutputs(), threads_, [&](int64_t row, int) { MakeU(row); });
    const int64_t blocks = (tiles_ + kTileColumns - 1) / kTileColumns;
    ParallelFor(spec_.n * spec_.groups * blocks, threads_, [&](int64_t i, int slot) {
      const int64_t image = i / blocks / spec_.groups, group = i / blocks % spec_.groups;
      ComputeBlock(outputs[0], image, group, i % blocks * kTileColumns, slots_[static_cast<size_t>(slot)]);
    });
  }

 private:
  struct Slot {
    std::vector<Acc> v;  // [16, channels, kTileColumns]
    std::vector<Acc> m;  // [16, padded outputs, kTileColumns]
  };

  // u_ is [groups, 16, padded outputs, channels].
  void MakeU(int64_t row) {
    const int64_t outputs = operands_.PaddedOutputs(), channels = spec_.GroupInputs();
    const int64_t group = row / outputs, o = row % outputs;
    for (int64_t c = 0; c < channels; ++c) {
      const Acc* g = operands_.Weights(group) + o * spec_.Terms() + c * spec_.Taps();
      Acc half[3 * kSide], u[kElements];
      for (int64_t j = 0; j < 3; ++j) TransformWeights(g[j], g[3 + j], g[6 + j], half + j, 3);
      for (int64_t i = 0; i < kSide; ++i) TransformWeights(half[3 * i], half[3 * i + 1], half[3 * i + 2], u + 4 * i, 1);
      for (int64_t e = 0; e < kElements; ++e) {
        u_[static_cast<size_t>(((group * kElements + e) * outputs + o) * channels + c)] = u[e];
      }
    }
  }

  void ComputeBlock(std::byte* y, int64_t image, int64_t group, int64_t first, Slot& slot) const {
    const int64_t outputs = operands_.PaddedOutputs(), channels = spec_.GroupInputs();
    const int64_t count = std::min(kTileColumns, tiles_ - first);
    std::fill(slot.v.begin(), slot.v.end(), Acc{0});
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t t = 0; t < count; ++t) {
        MakeV(image * spec_.c + group * channels + c, first + t, slot.v.data() + c * kTileColumns + t);
      }
    }
    for (int64_t e = 0; e < kElements; ++e) {
      MultiplyPanel(PanelProduct<Acc>{u_.data() + (group * kElements + e) * outputs * channels, channels,
                                      slot.v.data() + e * channels * kTileColumns, outputs, channels,
                                      slot.m.data() + e * outputs * kTileColumns, kTileColumns, false});
    }
    for (int64_t r = 0; r < spec_.GroupOutputs(); ++r) {
      for (int64_t t = 0; t < count; ++t) {
        StoreTile(y, image, group * spec_.GroupOutputs() + r, first + t, slot.m.data() + r * kTileColumns + t);
      }
    }
  }

  void MakeV(int64_t channel, int64_t tile, Acc* to) const {
    const int64_t p1 = tile / across_ * kTile - spec_.pad[1], p2 = tile % across_ * kTile - spec_.pad[2];
    Acc d[kElements] = {}, half[kElements], v[kElements];
    for (int64_t i = std::max<int64_t>(0, -p1); i < std::min(kSide, spec_.in[1] - p1); ++i) {
      const Acc* row = operands_.Row(channel, 0, p1 + i);
      for (int64_t j = std::max<int64_t>(0, -p2); j < std::min(kSide, spec_.in[2] - p2); ++j)
        d[4 * i + j] = row[p2 + j];
    }
    for (int64_t j = 0; j < kSide; ++j) TransformInputs(d + j, kSide, half + j, kSide);
    for (int64_t i = 0; i < kSide; ++i) TransformInputs(half + 4 * i, 1, v + 4 * i, 1);
    for (int64_t e = 0; e < kElements; ++e) to[e * spec_.GroupInputs() * kTileColumns] = v[e];
  }

  void StoreTile(std::byte* y, int64_t image, int64_t o, int64_t tile, const Acc* from) const {
    const int64_t stride = operands_.PaddedOutputs() * kTileColumns;
    Acc half[kTile][kSide];
    for (int64_t j = 0; j < kSide; ++j) {
      const Acc a = from[j * stride], b = from[(4 + j) * stride], c = from[(8 + j) * stride],
                d = from[(12 + j) * stride];
      half[0][j] = a + b + c;
      half[1][j] = b - c - d;
    }
    const int64_t p1 = tile / across_ * kTile, p2 = tile % across_ * kTile;
    for (int64_t i = 0; i < std::min(kTile, spec_.out[1] - p1); ++i) {
      Acc row[kTile] = {half[i][0] + half[i][1] + half[i][2], half[i][1] - half[i][2] - half[i][3]};
      if (spec_.has_bias) row[0] += operands_.Bias(o), row[1] += operands_.Bias(o);
      StoreConvRow(spec_, y, image, o, {0, p1 + i, p2}, row, std::min(kTile, spec_.out[2] - p2));
    }
  }

  const plugin::ConvSpec spec_;
  ConvOperands<Acc> operands_;
  int threads_;
  int64_t across_, tiles_;
  std::vector<Acc> u_;
  std::vector<Slot> slots_;  // one per thread
};

}  // namespace

std::unique_ptr<plugin::Plan> CreateConvWinograd(plugin::HostDevice&, const plugin::OpDesc& op) {
  const plugin::ConvSpec spec = plugin::ParseConv(op);
  if (spec.IsF64()) return std::make_unique<WinogradPlan<double>>(spec);
  return std::make_unique<WinogradPlan<float>>(spec);
}

}  // namespace cpu
