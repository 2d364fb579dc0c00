// SPDX-License-Identifier: Apache-2.0
// matmul for any strides and combination of storage types: `tiled` sums k in ascending order in local memory tiles,
// `splitk` sums up to 8 parts of k apart and adds them in order.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/common/matmul_spec.h"
#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"
#include "backends/opencl/tile.h"

namespace opencl {
namespace {

using plugin::MatmulSpec;

constexpr int64_t kMostParts = 8;
constexpr int64_t kPart = 256;  // extent of k that is worth a part, beyond the first two

// Must match the layout in kernels/matmul_epilogue.cl.
struct MatmulParams {
  int64_t m, n, k, batch, parts, part;
  int64_t a_batch, a_row, a_column, b_batch, b_row, b_column;
  int64_t c_batch, c_row, c_column, bias_column, y_batch, y_row, y_column;
  int64_t has_c, has_bias, rounded, one, alpha, beta;
  int64_t b_along_k;
};

// Depends on k alone, so that a row's bits do not depend on the rows beside it.
int64_t PartsOf(int64_t k) {
  return std::clamp<int64_t>(k / kPart, 2, kMostParts);
}

MatmulParams ParamsOf(const MatmulSpec& s, Accumulator acc, int64_t parts) {
  const int64_t part = (s.k + parts - 1) / parts;
  return {s.m,
          s.n,
          s.k,
          s.batch,
          parts,
          part,
          s.a.batch_stride,
          s.a.row_stride,
          s.a.column_stride,
          s.b.batch_stride,
          s.b.row_stride,
          s.b.column_stride,
          s.c.batch_stride,
          s.c.row_stride,
          s.c.column_stride,
          s.bias.column_stride,
          s.y.batch_stride,
          s.y.row_stride,
          s.y.column_stride,
          s.c.input >= 0,
          s.bias.input >= 0,
          s.epilogue_rounded,
          ScalarBits(acc, 1),
          ScalarBits(acc, s.alpha),
          ScalarBits(acc, s.beta),
          s.b.row_stride == 1 && s.b.column_stride != 1};
}

// Whether a kernel for this very form may pay: a smaller product is done before a driver has compiled one.
bool IsLarge(const MatmulSpec& s) {
  constexpr double kOperations = 1e6;
  return 2.0 * static_cast<double>(s.batch * s.m) * static_cast<double>(s.n * s.k) > kOperations;
}

Tile TileOf(const Traits& traits, Accumulator acc, const MatmulSpec& s) {
  return TileFor(traits, acc, IsLarge(s) ? s.m : kSmallTileRows);
}

// The types behind the product. Those that are absent have the type that they mostly have: fewer programs to compile.
Options EpilogueTypes(const MatmulSpec& s) {
  Options options;
  options.Type("Y", s.y.dtype).Type("C", s.c.input >= 0 ? s.c.dtype : s.y.dtype);
  return options.Type("V", s.bias.input >= 0 ? s.bias.dtype : s.y.dtype);
}

ProgramSpec TiledProgram(const MatmulSpec& s, Accumulator acc, const Tile& tile) {
  ProgramSpec program{{"vectors.cl", "tile.cl", "matmul_epilogue.cl", "matmul.cl"}, acc, EpilogueTypes(s)};
  program.options.Type("A", s.a.dtype).Type("B", s.b.dtype);
  // Along the rows only where they are consecutive and fill vectors.
  const bool a_along_rows =
      IsLarge(s) && s.a.column_stride != 1 && s.a.row_stride == 1 && tile.Rows() % tile.width == 0;
  program.options.Define("A_ALONG_K", !a_along_rows);
  tile.Define(program.options);
  return program;
}

template <bool kSplit>
std::unique_ptr<plugin::Plan> CreateMatmul(Device& device, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  const Accumulator acc = AccumulatorOf(op);
  const Tile tile = TileOf(device.traits(), acc, s);
  const MatmulParams params = ParamsOf(s, acc, kSplit ? PartsOf(s.k) : 1);
  auto plan = std::make_unique<KernelPlan>(device, op);
  // For an absent operand another one is passed, which the kernel does not read.
  const Operand a = plan->Input(0), b = plan->Input(1), c = plan->Input(std::max(s.c.input, 0)),
                bias = plan->Input(std::max(s.bias.input, 0)), y = plan->Output();
  const Operand sums = kSplit ? plan->Workspace(s.batch * params.parts * s.m * s.n, Bytes(acc)) : y;
  plan->Launch(TiledProgram(s, acc, tile), "tiled", {a, b, c, bias, y, sums}, params,
               tile.Over(s.m, s.n, s.batch * params.parts));
  if (!kSplit) return plan;
  constexpr int64_t kItems = 64;
  const size_t blocks = static_cast<size_t>((s.n + kItems - 1) / kItems);
  const ProgramSpec combine{{"matmul_epilogue.cl", "matmul_combine.cl"}, acc, EpilogueTypes(s)};
  plan->Launch(combine, "combine", {sums, c, bias, y}, params,
               Grid{{blocks, static_cast<size_t>(s.m), static_cast<size_t>(s.batch)}, {kItems, 1, 1}});
  return plan;
}

std::string MatmulWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.IsEmpty()) return "matmul with an extent below 1";
  if (s.IsInteger()) return plugin::IntegerMatmulWhyNot(s, std::numeric_limits<int16_t>::max());
  if (!op.AllTypes(plugin::IsFloat)) {
    return fmt::format("matmul computes f64, f32, f16, bf16 and i8-i8-i32, not {}", op.DTypesText());
  }
  if (std::string reason = OperandsWhyNot(traits, op); !reason.empty()) return reason;
  return TileOf(traits, AccumulatorOf(op), s).WhyNot(traits, AccumulatorOf(op));
}

std::string SplitKWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.k < 2) return "k=1 cannot be split";
  const double sums = static_cast<double>(s.batch * PartsOf(s.k)) * static_cast<double>(s.m) *
                      static_cast<double>(s.n * Bytes(AccumulatorOf(op)));
  if (sums > static_cast<double>(traits.MostBytes())) {
    return fmt::format("its partial sums of {} bytes exceed CL_DEVICE_MAX_MEM_ALLOC_SIZE of {}, {} bytes", sums,
                       traits.name, traits.max_alloc_bytes);
  }
  return MatmulWhyNot(traits, op);
}

std::string MatmulContract(const Traits& traits, const plugin::OpDesc& op) {
  return ContractText(traits, AccumulatorOf(op), Math::kNone);
}

constexpr Row kMatmulRows[] = {
    {{"matmul", plugin::kRealTypesAndI8, "tiled"}, MatmulContract, MatmulWhyNot, CreateMatmul<false>, true},
    {{"matmul", plugin::kRealTypesAndI8, "splitk"}, MatmulContract, SplitKWhyNot, CreateMatmul<true>, true},
};

}  // namespace

std::span<const Row> MatmulRows() {
  return kMatmulRows;
}

}  // namespace opencl
