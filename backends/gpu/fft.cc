// SPDX-License-Identifier: Apache-2.0
// fft: mixed-radix Stockham stages ("radix"), or Bluestein's convolution along every axis ("bluestein").
#include <fmt/format.h>

#include <algorithm>

#include "backends/common/fft_spec.h"
#include "backends/common/fft_tables.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

using plugin::FftKind;
using plugin::FftSpec;
using plugin::FftTables;

// Largest first; what is left of powers of two in one stage.
std::vector<int32_t> RadicesOf(int64_t n) {
  std::vector<int32_t> radices;
  for (const int32_t radix : {16, 8, 4, 2}) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  }
  for (const int64_t prime : plugin::PrimeFactors(n)) radices.push_back(static_cast<int32_t>(prime));
  return radices;
}

// Adds the steps of a transform to a plan. Two workspaces take turns.
class FftSteps {
 public:
  FftSteps(KernelPlan& plan, const FftSpec& spec, bool bluestein) : plan_(plan), spec_(spec) {
    const auto bytes = static_cast<uint64_t>(spec.batch * plugin::WorkPoints(spec, bluestein) * spec.ComplexBytes());
    for (std::byte*& work : work_) work = plan.Workspace(bytes);
    FftTables tables(spec.wide);
    std::vector<FftTables::AxisStarts> starts;
    for (const int64_t n : spec.n) starts.push_back(tables.AddAxis(n, bluestein));
    const std::vector<std::byte> contents = tables.Bytes();
    table_ = plan.Table(contents.data(), contents.size());
    AddMove(false);
    int64_t inner = 1;
    for (size_t axis = spec.n.size(); axis-- > 0; inner *= spec.n[axis]) {
      const int64_t lines = spec.batch * spec.Points() / spec.n[axis];
      if (bluestein) {
        AddBluestein(spec.n[axis], inner, lines, starts[axis]);
      } else {
        AddStages(spec.n[axis], inner, lines, starts[axis].roots);
      }
    }
    AddMove(true);
  }

 private:
  const std::byte* Entry(uint32_t start) const { return table_ + int64_t{start} * spec_.ComplexBytes(); }

  void AddMove(bool out) {
    FftMoveParams p;
    const auto& strides = out ? spec_.y_strides : spec_.x_strides;
    p.out = out, p.real_operand = spec_.kind == (out ? FftKind::kC2R : FftKind::kR2C);
    p.mirrored = !out && spec_.kind == FftKind::kC2R, p.swapped = spec_.inverse;
    p.scaled = spec_.scaled, p.scale = spec_.scale, p.axes = static_cast<int32_t>(spec_.n.size());
    p.row = spec_.StoredRow(out), p.full_row = spec_.n.back(), p.points = spec_.Points(), p.batch_stride = strides[0];
    p.count = spec_.batch * (out ? p.points / p.full_row * p.row : p.points);
    for (size_t a = 0; a < spec_.n.size(); ++a) {
      p.size[a] = a + 1 == spec_.n.size() ? p.row : spec_.n[a], p.stride[a] = strides[a + 1];
    }
    plan_.Add("FftMove", [wide = spec_.wide, work = work_[current_], p](const Bound& at) mutable {
      if (p.out) {
        p.from = work, p.to = at.Output();
      } else {
        p.from = at.Input(0), p.to = work;
      }
      LaunchFftMove(wide, p, at.stream());
    });
  }

  void AddStages(int64_t n, int64_t inner, int64_t lines, uint32_t roots) {
    FftStageParams p;
    p.n = p.m = n, p.inner = inner, p.roots = Entry(roots);
    for (const int32_t radix : RadicesOf(n)) {
      p.radix = radix, p.m /= radix;
      const bool whole = radix == 2 || radix == 4 || radix == 8 || radix == 16;
      p.count = lines * (whole ? n / radix : n);
      AddInTurn(whole ? "FftStage" : "FftOddStage", p, LaunchFftStage);
      p.s *= radix;
    }
  }

  void AddBluestein(int64_t n, int64_t inner, int64_t lines, const FftTables::AxisStarts& starts) {
    if (n == 1) return;
    const int64_t padded = plugin::PaddedLength(n);
    const auto product = [&](int32_t mode, uint32_t table, int64_t length) {
      FftChirpParams p;
      p.mode = mode, p.table = Entry(table), p.count = lines * length, p.n = n, p.padded = padded, p.inner = inner;
      AddInTurn("FftChirp", p, LaunchFftChirp);
    };
    product(0, starts.chirp, padded);
    AddStages(padded, 1, lines, starts.roots);
    product(1, starts.spectrum, padded);
    AddStages(padded, 1, lines, starts.roots);
    product(2, starts.chirp, n);
  }

  template <class Params>
  void AddInTurn(std::string_view kernel, Params p, void (*launch)(bool, const Params&, void*)) {
    p.from = work_[current_], p.to = work_[1 - current_];
    plan_.Add(kernel, [wide = spec_.wide, launch, p](const Bound& at) { launch(wide, p, at.stream()); });
    current_ = 1 - current_;
  }

  KernelPlan& plan_;
  const FftSpec& spec_;
  const std::byte* table_ = nullptr;
  std::byte* work_[2]{};
  int current_ = 0;
};

template <bool kBluestein>
std::unique_ptr<plugin::Plan> CreateFft(Device& device, const plugin::OpDesc& op) {
  auto plan = std::make_unique<KernelPlan>(device, op);
  FftSteps(*plan, plugin::ParseFft(op), kBluestein);
  return plan;
}

template <bool kBluestein>
std::string FftWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const FftSpec s = plugin::ParseFft(op);
  if (std::string reason = plugin::FftTypesWhyNot(op, s); !reason.empty()) return reason;
  if (s.n.size() > kMostFftAxes) return fmt::format("fft over {} axes; at most {}", s.n.size(), kMostFftAxes);
  if (!kBluestein) {
    if (std::string reason = plugin::RadixStagesWhyNot(s, kLargestRadix); !reason.empty()) return reason;
  }
  const double points = static_cast<double>(s.batch) * static_cast<double>(plugin::WorkPoints(s, kBluestein));
  if (2 * points * static_cast<double>(s.ComplexBytes()) > 0.5 * static_cast<double>(traits.memory_bytes)) {
    return fmt::format("its workspaces of {} numbers exceed half of the memory of {}", 2 * points, traits.name);
  }
  return BlocksWhyNot(traits, points / kFftThreads, kFftThreads);
}

// Tables in f32 are rounded from double: nearest but for rare ties. In f64 they are rounded from 64 bits: under 1 ulp.
template <bool kBluestein>
std::string FftContract(const Traits&, const plugin::OpDesc& op) {
  const bool wide = plugin::ParseFft(op).wide;
  return fmt::format("{};math={};alg={};det=yes;batchinv=yes", wide ? "f64" : "f32", wide ? "1" : "0.51",
                     kBluestein ? "bluestein" : "fft");
}

constexpr Row kFftRows[] = {
    {{"fft", plugin::kFftTypes, "radix"}, FftContract<false>, FftWhyNot<false>, CreateFft<false>},
    {{"fft", plugin::kFftTypes, "bluestein"}, FftContract<true>, FftWhyNot<true>, CreateFft<true>},
};

}  // namespace

std::span<const Row> FftRows() {
  return kFftRows;
}

}  // namespace gpu
