// SPDX-License-Identifier: Apache-2.0
// fft through VkFFT: the operand is gathered into a dense complex field, transformed in place and scattered. Real
// transforms are complex ones with zero imaginary parts or mirrored spectra.
#include <fmt/format.h>

#include <algorithm>

#include "backends/common/fft_spec.h"
#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"
#include "backends/opencl/vkfft.h"

namespace opencl {
namespace {

using plugin::FftKind;
using plugin::FftSpec;
using Three = std::array<int64_t, 3>;

constexpr int64_t kFftItems = 64;

// Must match the layout in kernels/fft.cl.
struct FftParams {
  int64_t points, outputs;
  Three n, x_size, y_size;
  int64_t x_batch;
  Three x;
  int64_t y_batch;
  Three y;
  int64_t scaled, scale;
  int64_t kind, inverse;
};

// Right-aligned among three axes, with `absent` in front.
Three Aligned(const std::vector<int64_t>& values, size_t skip, int64_t absent) {
  Three aligned{absent, absent, absent};
  std::copy_backward(values.begin() + static_cast<int64_t>(skip), values.end(), aligned.end());
  return aligned;
}

FftParams ParamsOf(const FftSpec& s, Accumulator acc) {
  const Three n = Aligned(s.n, 0, 1);
  Three half = n;
  half[2] = n[2] / 2 + 1;
  const Three x_size = s.kind == FftKind::kC2R ? half : n, y_size = s.kind == FftKind::kR2C ? half : n;
  return {s.Points(),
          y_size[0] * y_size[1] * y_size[2],
          n,
          x_size,
          y_size,
          s.x_strides[0],
          Aligned(s.x_strides, 1, 0),
          s.y_strides[0],
          Aligned(s.y_strides, 1, 0),
          s.scaled,
          ScalarBits(acc, s.scale),
          static_cast<int64_t>(s.kind),
          s.inverse};
}

std::unique_ptr<plugin::Plan> CreateVkFft(Device& device, const plugin::OpDesc& op) {
  const FftSpec s = plugin::ParseFft(op);
  const Accumulator acc = AccumulatorOf(op);
  const FftParams params = ParamsOf(s, acc);
  const ProgramSpec program{{"fft.cl"}, acc, {}};
  const auto grid = [&](int64_t elements) {
    return Grid{{static_cast<size_t>((elements + kFftItems - 1) / kFftItems), static_cast<size_t>(s.batch), 1},
                {kFftItems, 1, 1}};
  };
  auto plan = std::make_unique<KernelPlan>(device, op);
  const Operand field =
      plan->Workspace(FieldBatch(params.n, s.batch) * params.points, 2 * Bytes(acc), "VkFFT " + VkFftVersion());
  plan->Launch(program, "gather", {plan->Input(0), field}, params, grid(params.points));
  if (params.points > 1) {
    plan->Add(MakeVkFftStep(device, {field.workspace, params.n, s.batch, s.wide}));
  }
  plan->Launch(program, "scatter", {field, plan->Output()}, params, grid(params.outputs));
  return plan;
}

bool NeedsBluestein(int64_t n) {
  return plugin::LargestPrimeFactor(n) > kVkFftLargestRadix;
}

// A line that fits into local memory is one work-group's, which a processor's driver keeps on a stack: see
// thread_stacks.h. Longer ones are taken in parts.
std::string StackWhyNot(const Traits& traits, const FftSpec& s) {
  constexpr uint64_t kMostLineBytes = 6 << 20;
  if (!traits.is_cpu) return "";
  for (const int64_t n : s.n) {
    const int64_t length = NeedsBluestein(n) ? plugin::PaddedLength(n) : n;
    const auto bytes = static_cast<uint64_t>(length * s.ComplexBytes());
    if (bytes > kMostLineBytes && bytes <= traits.local_bytes) {
      return fmt::format("a line of {} bytes in one work-group would not fit on a stack of {}", bytes, traits.name);
    }
  }
  return "";
}

std::string FftWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  if (VkFftVersion().empty()) return "this plugin was built without VkFFT: install libvkfft-dev and configure again";
  const FftSpec s = plugin::ParseFft(op);
  if (std::string reason = plugin::FftTypesWhyNot(op, s); !reason.empty()) return reason;
  if (s.n.size() > 3) return fmt::format("{} axes; VkFFT transforms up to 3", s.n.size());
  const auto field = static_cast<uint64_t>(FieldBatch(Aligned(s.n, 0, 1), s.batch) * s.Points() * s.ComplexBytes());
  if (field > traits.MostBytes()) {
    return fmt::format("its field of {} bytes exceeds CL_DEVICE_MAX_MEM_ALLOC_SIZE of {}, {} bytes", field, traits.name,
                       traits.max_alloc_bytes);
  }
  if (std::string reason = StackWhyNot(traits, s); !reason.empty()) return reason;
  return OperandsWhyNot(traits, op);
}

// VkFFT makes its twiddles on the host from angles computed in double. In f32 that is the nearest but for rare ties. In
// f64 an angle near a full turn is off by several roundings: the worst of 11 million twiddles (radices 2 to 13, stages
// up to 10^6) is off by 15.04 * 2^-53, within the 16 * 2^-53 of 8 ulp. How its kernels depend on the batch is not
// documented: no claim of invariance.
std::string FftContract(const Traits& traits, const plugin::OpDesc& op) {
  const FftSpec s = plugin::ParseFft(op);
  const bool bluestein = std::ranges::any_of(s.n, NeedsBluestein);
  std::string text = fmt::format("{};math={};alg={};det=yes", s.wide ? "f64" : "f32", s.wide ? "8" : "0.51",
                                 bluestein ? "bluestein" : "fft");
  if (!traits.KeepsSubnormals(s.wide)) text += ";ftz=all";
  return traits.RoundsToNearest(s.wide) ? text : text + ";out=rz";
}

constexpr Row kFftRows[] = {
    {{"fft", plugin::kFftTypes, "vkfft"}, FftContract, FftWhyNot, CreateVkFft, true},
};

}  // namespace

std::span<const Row> FftRows() {
  return kFftRows;
}

}  // namespace opencl
