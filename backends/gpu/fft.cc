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

int64_t ComplexBytes(const FftSpec& s) {
  return s.wide ? 16 : 8;
}

// Elements of the workspace that one transform needs.
int64_t WorkPoints(const FftSpec& s, bool bluestein) {
  int64_t most = s.Points();
  for (const int64_t n : s.n) most = std::max(most, bluestein ? s.Points() / n * plugin::PaddedLength(n) : 0);
  return most;
}

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
  FftSteps(KernelPlan& plan, const FftSpec& spec, bool bluestein)
      : plan_(plan), spec_(spec), bluestein_(bluestein), tables_(spec.wide) {
    const auto bytes = static_cast<uint64_t>(spec.batch * WorkPoints(spec, bluestein) * ComplexBytes(spec));
    for (std::byte*& work : work_) work = plan.Workspace(bytes);
    for (const int64_t n : spec.n) MakeTables(n);
    const std::vector<std::byte> contents = tables_.Bytes();
    table_ = plan.Table(contents.data(), contents.size());
    AddMove(false);
    int64_t inner = 1;
    for (size_t axis = spec.n.size(); axis-- > 0; inner *= spec.n[axis]) {
      const int64_t lines = spec.batch * spec.Points() / spec.n[axis];
      if (bluestein) {
        AddBluestein(spec.n[axis], inner, lines, starts_[axis]);
      } else {
        AddStages(spec.n[axis], inner, lines, starts_[axis].roots);
      }
    }
    AddMove(true);
  }

 private:
  struct Starts {
    uint32_t roots = 0, chirp = 0, spectrum = 0;
  };

  void MakeTables(int64_t n) {
    if (bluestein_) {
      starts_.push_back({tables_.AddRoots(plugin::PaddedLength(n)), tables_.AddChirp(n), tables_.AddSpectrum(n)});
    } else {
      starts_.push_back({tables_.AddRoots(n), 0, 0});
    }
  }
  const std::byte* Entry(uint32_t start) const { return table_ + int64_t{start} * ComplexBytes(spec_); }

  // Elements of a row as the operand stores it.
  int64_t StoredRow(bool out) const {
    const bool half = out ? spec_.kind == FftKind::kR2C : spec_.kind == FftKind::kC2R;
    return half ? spec_.n.back() / 2 + 1 : spec_.n.back();
  }

  void AddMove(bool out) {
    FftMoveParams p;
    const auto& strides = out ? spec_.y_strides : spec_.x_strides;
    p.out = out, p.real_operand = spec_.kind == (out ? FftKind::kC2R : FftKind::kR2C);
    p.mirrored = !out && spec_.kind == FftKind::kC2R, p.swapped = spec_.inverse;
    p.scaled = spec_.scaled, p.scale = spec_.scale, p.axes = static_cast<int32_t>(spec_.n.size());
    p.row = StoredRow(out), p.full_row = spec_.n.back(), p.points = spec_.Points(), p.batch_stride = strides[0];
    p.count = spec_.batch * (out ? p.points / p.full_row * p.row : p.points);
    for (size_t a = 0; a < spec_.n.size(); ++a) {
      p.size[a] = a + 1 == spec_.n.size() ? p.row : spec_.n[a], p.stride[a] = strides[a + 1];
    }
    plan_.Add([wide = spec_.wide, work = work_[current_], p](const Bound& at) mutable {
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
      AddInTurn(p, LaunchFftStage);
      p.s *= radix;
    }
  }

  void AddBluestein(int64_t n, int64_t inner, int64_t lines, const Starts& starts) {
    if (n == 1) return;
    const int64_t padded = plugin::PaddedLength(n);
    const auto product = [&](int32_t mode, uint32_t table, int64_t length) {
      FftChirpParams p;
      p.mode = mode, p.table = Entry(table), p.count = lines * length, p.n = n, p.padded = padded, p.inner = inner;
      AddInTurn(p, LaunchFftChirp);
    };
    product(0, starts.chirp, padded);
    AddStages(padded, 1, lines, starts.roots);
    product(1, starts.spectrum, padded);
    AddStages(padded, 1, lines, starts.roots);
    product(2, starts.chirp, n);
  }

  template <class Params>
  void AddInTurn(Params p, void (*launch)(bool, const Params&, void*)) {
    p.from = work_[current_], p.to = work_[1 - current_];
    plan_.Add([wide = spec_.wide, launch, p](const Bound& at) { launch(wide, p, at.stream()); });
    current_ = 1 - current_;
  }

  KernelPlan& plan_;
  const FftSpec& spec_;
  const bool bluestein_;
  plugin::FftTables tables_;
  std::vector<Starts> starts_;
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
  for (const int64_t n : s.n) {
    const int64_t largest = plugin::LargestPrimeFactor(n);
    if (!kBluestein && largest > kLargestRadix) {
      return fmt::format("n={} has the prime factor {}; radix stages go up to {}", n, largest, kLargestRadix);
    }
  }
  const double points = static_cast<double>(s.batch) * static_cast<double>(WorkPoints(s, kBluestein));
  if (2 * points * static_cast<double>(ComplexBytes(s)) > 0.5 * static_cast<double>(traits.memory_bytes)) {
    return fmt::format("its workspaces of {} numbers exceed half of the memory of {}", 2 * points, traits.name);
  }
  return BlocksWhyNot(points / kFftThreads);
}

// Tables in f32 are rounded from double: nearest but for rare ties. In f64 they are rounded from 64 bits: under 1 ulp.
template <bool kBluestein>
std::string FftContract(const Traits&, const plugin::OpDesc& op) {
  const bool wide = plugin::ParseFft(op).wide;
  return fmt::format("{};math={};alg={};det=yes;batchinv=yes", wide ? "f64" : "f32", wide ? "1" : "0.51",
                     kBluestein ? "bluestein" : "fft");
}

constexpr Row kFftRows[] = {
    {"fft", "radix", FftContract<false>, FftWhyNot<false>, CreateFft<false>},
    {"fft", "bluestein", FftContract<true>, FftWhyNot<true>, CreateFft<true>},
};

}  // namespace

std::span<const Row> FftRows() {
  return kFftRows;
}

}  // namespace gpu
