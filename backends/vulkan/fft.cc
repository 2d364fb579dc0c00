// SPDX-License-Identifier: Apache-2.0
// fft: mixed-radix Stockham stages ("radix"), or Bluestein's convolution along every axis ("bluestein").
#include <algorithm>

#include "backends/common/fft_spec.h"
#include "backends/common/fft_tables.h"
#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

using plugin::FftKind;
using plugin::FftSpec;
using plugin::FftTables;

constexpr int64_t kLargestRadix = 31;
constexpr uint32_t kFftLanes = 64;

// Must match the layout in the shaders fft_move, fft_stage and fft_chirp.
template <class Real>
struct MoveParams {
  uint32_t count, points, first_batch, axes_count;
  uint32_t batch_stride, real_operand, mirrored, swapped;
  uint32_t has_scale, row, full_row, unused;
  ShaderAxis axes[kMaxAxes];
  Real scale;
};
struct StageParams {
  uint32_t count, n, inner, m;
  uint32_t s, roots, unused[2];
};
struct ChirpParams {
  uint32_t count, n, padded, inner;
  uint32_t chirp, spectrum, unused[2];
};

// Builds the steps for as many transforms at a time as a binding holds. Buffers 0 and 1 take turns; 2 holds the tables.
class FftBuilder {
 public:
  FftBuilder(const Facts& facts, const FftSpec& spec, bool bluestein)
      : spec_(spec), bluestein_(bluestein), variant_(spec.wide ? Variant::kF64 : Variant::kF32), tables_(spec.wide) {
    const int64_t bytes = plugin::WorkPoints(spec, bluestein) * spec.ComplexBytes();
    const auto most = static_cast<int64_t>(facts.MaxBinding());
    const int64_t at_once = std::max<int64_t>(1, std::min(spec.batch, most / bytes));
    for (const int64_t n : spec.n) axis_tables_.push_back(tables_.AddAxis(n, bluestein));
    for (int64_t first = 0; first < spec.batch; first += at_once) {
      AddBatches(first, std::min(at_once, spec.batch - first));
    }
    const auto room = static_cast<uint64_t>(at_once * bytes);
    recipe_.work = {{room, {}}, {room, {}}, {0, tables_.Bytes()}};
  }
  Recipe Take() { return std::move(recipe_); }

 private:
  void AddBatches(int64_t first, int64_t batches) {
    current_ = 0;
    AddMove(first, batches, false);
    int64_t inner = 1;
    for (size_t axis = spec_.n.size(); axis-- > 0; inner *= spec_.n[axis]) {
      const int64_t lines = batches * spec_.Points() / spec_.n[axis];
      if (bluestein_) {
        AddBluestein(spec_.n[axis], inner, lines, axis_tables_[axis]);
      } else {
        AddStages(spec_.n[axis], inner, lines, axis_tables_[axis].roots);
      }
    }
    AddMove(first, batches, true);
  }

  void AddMove(int64_t first, int64_t batches, bool out) {
    const auto params = spec_.wide ? MoveBytes<double>(first, batches, out) : MoveBytes<float>(first, batches, out);
    const int64_t points = out ? spec_.Points() / spec_.n.back() * spec_.StoredRow(out) : spec_.Points();
    Add("fft_move", out ? 1 : 0, params, {out ? Out() : In(0), Work(current_)}, batches * points);
  }

  template <class Real>
  std::vector<std::byte> MoveBytes(int64_t first, int64_t batches, bool out) const {
    MoveParams<Real> p{};
    const auto& strides = out ? spec_.y_strides : spec_.x_strides;
    const auto u = [](int64_t x) { return static_cast<uint32_t>(x); };
    p.row = u(spec_.StoredRow(out)), p.full_row = u(spec_.n.back()), p.points = u(spec_.Points());
    p.count = u(batches * (out ? spec_.Points() / spec_.n.back() * spec_.StoredRow(out) : spec_.Points()));
    p.first_batch = u(first), p.batch_stride = u(strides[0]), p.axes_count = u(static_cast<int64_t>(spec_.n.size()));
    for (size_t a = 0; a < spec_.n.size(); ++a) {
      const bool last = a + 1 == spec_.n.size();
      p.axes[a] = {last ? p.row : u(spec_.n[a]), u(strides[a + 1]), 0, 0};
    }
    p.real_operand = spec_.kind == (out ? FftKind::kC2R : FftKind::kR2C) ? 1 : 0;
    p.mirrored = !out && spec_.kind == FftKind::kC2R ? 1 : 0;
    p.swapped = spec_.inverse ? 1 : 0;
    p.has_scale = out && spec_.scaled ? 1 : 0, p.scale = static_cast<Real>(spec_.scale);
    return BytesOf(p);
  }

  void AddStages(int64_t n, int64_t inner, int64_t lines, uint32_t roots) {
    std::vector<int64_t> radices;
    int64_t rest = n;
    for (; rest % 4 == 0; rest /= 4) radices.push_back(4);
    for (int64_t p : plugin::PrimeFactors(rest)) radices.push_back(p);
    int64_t m = n, s = 1;
    for (int64_t radix : radices) {
      m /= radix;
      const int64_t count = lines * (radix == 2 || radix == 4 ? n / radix : n);
      const auto u = [](int64_t x) { return static_cast<uint32_t>(x); };
      const StageParams params{u(count), u(n), u(inner), u(m), u(s), roots, {}};
      AddInTurn("fft_stage", u(radix), BytesOf(params), count);
      s *= radix;
    }
  }

  void AddBluestein(int64_t n, int64_t inner, int64_t lines, const FftTables::AxisStarts& tables) {
    if (n == 1) return;
    const int64_t padded = plugin::PaddedLength(n);
    const auto product = [&](uint32_t mode, int64_t count) {
      const ChirpParams params{static_cast<uint32_t>(count),
                               static_cast<uint32_t>(n),
                               static_cast<uint32_t>(padded),
                               static_cast<uint32_t>(inner),
                               tables.chirp,
                               tables.spectrum,
                               {}};
      AddInTurn("fft_chirp", mode, BytesOf(params), count);
    };
    product(0, lines * padded);
    AddStages(padded, 1, lines, tables.roots);
    product(1, lines * padded);
    AddStages(padded, 1, lines, tables.roots);
    product(2, lines * n);
  }

  void AddInTurn(const char* shader, uint32_t constant, std::vector<std::byte> params, int64_t count) {
    Add(shader, constant, std::move(params), {Work(current_), Work(1 - current_), Work(2)}, count);
    current_ = 1 - current_;
  }

  void Add(const char* shader, uint32_t constant, std::vector<std::byte> params, std::vector<Slot> slots,
           int64_t count) {
    recipe_.steps.push_back({{shader, variant_, Constants(kFftLanes, {}, {constant})},
                             std::move(params),
                             std::move(slots),
                             CeilDiv(count, kFftLanes)});
  }

  const FftSpec spec_;
  const bool bluestein_;
  const Variant variant_;
  FftTables tables_;
  std::vector<FftTables::AxisStarts> axis_tables_;
  Recipe recipe_;
  int current_ = 0;
};

template <bool kBluestein>
Recipe FftRecipe(const Facts& facts, const plugin::OpDesc& op) {
  return FftBuilder(facts, plugin::ParseFft(op), kBluestein).Take();
}

template <bool kBluestein>
std::string FftWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  const FftSpec s = plugin::ParseFft(op);
  if (std::string reason = plugin::FftTypesWhyNot(op, s); !reason.empty()) return reason;
  if (s.n.size() > kMaxAxes) return fmt::format("fft over {} axes; at most {}", s.n.size(), kMaxAxes);
  if (!kBluestein) {
    if (std::string reason = plugin::RadixStagesWhyNot(s, kLargestRadix); !reason.empty()) return reason;
  }
  const int64_t bytes = plugin::WorkPoints(s, kBluestein) * s.ComplexBytes();
  if (static_cast<uint64_t>(bytes) <= facts.MaxBinding()) return "";
  return fmt::format("one transform takes a workspace of {} bytes, {} binds at most {}", bytes, facts.name,
                     facts.MaxBinding());
}

// Tables in f32 are rounded from double: nearest but for rare ties. In f64 they are rounded from 64 bits: under 1 ulp.
template <bool kBluestein>
std::string FftContract(const Facts& facts, const plugin::OpDesc& op) {
  const bool wide = plugin::ParseFft(op).wide;
  return Declare(facts, op, {wide ? 1.0 : 0.51, kBluestein ? "alg=bluestein;" : "alg=fft;"});
}

constexpr Row kFftRows[] = {
    {{"fft", plugin::kFftTypes, "radix"}, FftContract<false>, FftWhyNot<false>, FftRecipe<false>},
    {{"fft", plugin::kFftTypes, "bluestein"}, FftContract<true>, FftWhyNot<true>, FftRecipe<true>},
};

}  // namespace

std::span<const Row> FftRows() {
  return kFftRows;
}

}  // namespace vulkan
