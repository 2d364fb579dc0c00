// SPDX-License-Identifier: Apache-2.0
// Golden values against what the library takes for the bare numbers: a fast golden f32 product (value, magnitude,
// sigma, error) against one dgemm of the same shape on the same threads.
#include <cblas.h>

#include "golden/gemm.h"
#include "golden/sum.h"
#include "harness/base/fill.h"
#include "harness/base/parallel.h"
#include "tests/bench/targets.h"

namespace assay {
namespace {

Tensor Normal(DType dtype, Shape shape, uint64_t stream) {
  Tensor t(dtype, std::move(shape));
  FillTensor({}, 0, stream, -1, 0, t);
  return t;
}

struct Product {
  explicit Product(DType dtype, int64_t size)
      : n(size), a(Normal(dtype, {n, n}, 0)), b(Normal(dtype, {n, n}, 1)), da(a.ToDoubles()), db(b.ToDoubles()) {
    c.resize(n * n);
  }
  void Golden(Tier tier) const {
    benchmark::DoNotOptimize(GoldenGemm({.m = n, .n = n, .k = n}, a, b, tier, a.dtype() == DType::kF64));
  }
  // With the library's own threads, as many as ours; the golden engine needs it back at one.
  void Dgemm() {
    openblas_set_num_threads(ThreadCount());
    const int size = static_cast<int>(n);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, da.data(), size, db.data(), size, 0,
                c.data(), size);
    openblas_set_num_threads(1);
  }

  int64_t n;
  Tensor a, b;
  std::vector<double> da, db, c;
};

void Rate(benchmark::State& state, int64_t terms) {
  state.counters["terms/s"] =
      benchmark::Counter(static_cast<double>(terms * state.iterations()), benchmark::Counter::kIsRate);
}

void GoldenMatmul(benchmark::State& state, DType dtype, Tier tier) {
  const Product product(dtype, state.range(0));
  for (auto _ : state) product.Golden(tier);
  Rate(state, product.n * product.n * product.n);
}
BENCHMARK_CAPTURE(GoldenMatmul, f32_fast, DType::kF32, Tier::kFast)->Arg(1024)->UseRealTime();
BENCHMARK_CAPTURE(GoldenMatmul, f32_reproducible, DType::kF32, Tier::kReproducible)->Arg(512)->UseRealTime();
BENCHMARK_CAPTURE(GoldenMatmul, f64_reproducible, DType::kF64, Tier::kReproducible)->Arg(512)->UseRealTime();

void LibraryDgemm(benchmark::State& state) {
  Product product(DType::kF32, state.range(0));
  for (auto _ : state) product.Dgemm();
  Rate(state, product.n * product.n * product.n);
}
BENCHMARK(LibraryDgemm)->Arg(1024)->UseRealTime();

void GoldenRows(benchmark::State& state, Tier tier, bool logsumexp) {
  const int64_t rows = 256, k = 4096;
  const std::vector<double> x = Normal(DType::kF32, {rows, k}, 0).ToDoubles();
  for (auto _ : state) {
    benchmark::DoNotOptimize(logsumexp ? GoldenRowLogSumExp(x, rows, k, tier, false)
                                       : GoldenRowSums(x, rows, k, tier, false, 0x1p-126, false));
  }
  Rate(state, rows * k);
}
BENCHMARK_CAPTURE(GoldenRows, sum, Tier::kReproducible, false)->UseRealTime();
BENCHMARK_CAPTURE(GoldenRows, logsumexp_fast, Tier::kFast, true)->UseRealTime();
BENCHMARK_CAPTURE(GoldenRows, logsumexp_reproducible, Tier::kReproducible, true)->UseRealTime();

void CheckTargets(bench::Targets& targets) {
  Product product(DType::kF32, 1024);
  const double speed = bench::RelativeSpeed([&] { product.Golden(Tier::kFast); }, [&] { product.Dgemm(); }, 15);
  targets.Check("golden_matmul_f32_1024", 0.25, speed);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  return assay::bench::RunWithTargets(argc, argv, assay::CheckTargets);
}
