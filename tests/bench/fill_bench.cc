// SPDX-License-Identifier: Apache-2.0
// Input generation against a plain write of the same bytes, on one thread: random bits, deviates, rounding to the
// storage type and the store itself, against the store alone.
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/fill.h"
#include "tests/bench/targets.h"

namespace assay {
namespace {

constexpr int64_t kElements = int64_t{1} << 24;  // beyond any second-level cache

void Fill(const char* fill, Tensor& t) {
  FillTensor(ParseFill(fill).value(), 0, 0, -1, 0, t);
}

// Fills the tensor by std::fill, which compiles to vector stores.
template <class T>
void Write(Tensor& t) {
  const std::span<T> values = t.As<T>();
  std::fill(values.begin(), values.end(), T(1));
  benchmark::ClobberMemory();
}

void FillRate(benchmark::State& state, DType dtype, const char* fill) {
  SetThreadCount(1);
  Tensor t(dtype, {kElements});
  for (auto _ : state) Fill(fill, t);
  state.SetBytesProcessed(static_cast<int64_t>(t.bytes()) * state.iterations());
}
BENCHMARK_CAPTURE(FillRate, uniform_f32, DType::kF32, "uniform");
BENCHMARK_CAPTURE(FillRate, uniform_f64, DType::kF64, "uniform");
BENCHMARK_CAPTURE(FillRate, uniform_bf16, DType::kBF16, "uniform");
BENCHMARK_CAPTURE(FillRate, normal_f32, DType::kF32, "normal");
BENCHMARK_CAPTURE(FillRate, normal_f64, DType::kF64, "normal");
BENCHMARK_CAPTURE(FillRate, normal_bf16, DType::kBF16, "normal");

void CheckTargets(bench::Targets& targets) {
  SetThreadCount(1);
  Tensor f32(DType::kF32, {kElements}), f64(DType::kF64, {kElements});
  const auto write_f32 = [&] { Write<float>(f32); };
  const auto write_f64 = [&] { Write<double>(f64); };
  targets.AtLeast("fill_uniform_f32", 0.5, bench::RelativeSpeed([&] { Fill("uniform", f32); }, write_f32, 15));
  targets.AtLeast("fill_uniform_f64", 0.5, bench::RelativeSpeed([&] { Fill("uniform", f64); }, write_f64, 15));
  targets.AtLeast("fill_normal_f32", 0.15, bench::RelativeSpeed([&] { Fill("normal", f32); }, write_f32, 15));
  targets.AtLeast("fill_normal_f64", 0.15, bench::RelativeSpeed([&] { Fill("normal", f64); }, write_f64, 15));
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  return assay::bench::RunWithTargets(argc, argv, assay::CheckTargets);
}
