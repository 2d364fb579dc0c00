// SPDX-License-Identifier: Apache-2.0
// Golden values (value, magnitude, sigma, error and the operator's own planes) against what the library's dgemm takes
// for the bare products of the same shapes on the same threads, and against the peak of fused multiply-adds.
#include <cblas.h>

#include "golden/gemm/gemm.h"
#include "golden/sums/sum.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/fill.h"
#include "ops/conv/conv.h"
#include "ops/operator.h"
#include "tests/bench/peak.h"
#include "tests/bench/targets.h"

namespace assay {
namespace {

struct Yardstick {
  int64_t m, n, k;
};

// Rows or columns of c on each of our threads. The library's own threads would go on spinning for some time after the
// product, beside what is measured next.
void Dgemm(const Yardstick& product) {
  static std::vector<double> a, b, c;
  const auto [m, n, k] = product;
  const auto reserve = [](std::vector<double>& v, int64_t size) {
    if (std::ssize(v) < size) v.assign(static_cast<size_t>(size), 1.5);
  };
  reserve(a, m * k), reserve(b, k * n), reserve(c, m * n);
  const int64_t parts = ThreadCount();
  ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const bool by_row = m >= n;
      const int64_t all = by_row ? m : n, first = all * part / parts, size = all * (part + 1) / parts - first;
      const int64_t row = by_row ? first : 0, col = by_row ? 0 : first;
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(by_row ? size : m),
                  static_cast<int>(by_row ? n : size), static_cast<int>(k), 1, a.data() + row * k, static_cast<int>(k),
                  b.data() + col, static_cast<int>(n), 0, c.data() + row * n + col, static_cast<int>(n));
    }
  });
}

void Dgemm(const std::vector<Yardstick>& products) {
  for (const Yardstick& product : products) Dgemm(product);
}

double Flops(const std::vector<Yardstick>& products) {
  double flops = 0;
  for (const auto& [m, n, k] : products) flops += 2.0 * static_cast<double>(m * n * k);
  return flops;
}

Tensor Normal(DType dtype, Shape shape, uint64_t stream) {
  Tensor t(dtype, std::move(shape));
  FillTensor({}, 0, stream, -1, 0, t);
  return t;
}

struct Product {
  explicit Product(DType dtype, int64_t size) : n(size), a(Normal(dtype, {n, n}, 0)), b(Normal(dtype, {n, n}, 1)) {}
  void Golden(Tier tier) const {
    benchmark::DoNotOptimize(GoldenGemm({.m = n, .n = n, .k = n}, a, b, tier, a.dtype() == DType::kF64));
  }

  int64_t n;
  Tensor a, b;
};

void Rate(benchmark::State& state, int64_t terms) {
  state.counters["terms/s"] =
      benchmark::Counter(static_cast<double>(terms * state.iterations()), benchmark::Counter::kIsRate);
}

void GoldenMatmul(benchmark::State& state, DType dtype, Tier tier) {
  const Product product(dtype, state.range(0));
  product.Golden(tier);  // first use: threads, library buffers
  for (auto _ : state) product.Golden(tier);
  Rate(state, product.n * product.n * product.n);
}
BENCHMARK_CAPTURE(GoldenMatmul, f32_fast, DType::kF32, Tier::kFast)->Arg(1024)->UseRealTime();
BENCHMARK_CAPTURE(GoldenMatmul, f32_reproducible, DType::kF32, Tier::kReproducible)->Arg(512)->UseRealTime();
BENCHMARK_CAPTURE(GoldenMatmul, f64_reproducible, DType::kF64, Tier::kReproducible)->Arg(512)->UseRealTime();

void LibraryDgemm(benchmark::State& state) {
  for (auto _ : state) Dgemm(Yardstick{1024, 1024, 1024});
  Rate(state, int64_t{1024} * 1024 * 1024);
}
BENCHMARK(LibraryDgemm)->UseRealTime();

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

// The whole golden value of a case.
class OperatorGolden {
 public:
  explicit OperatorGolden(const std::string& id)
      : spec_(ParseId(id).value()),
        op_(OperatorRegistry::Global().Find(spec_.op)),
        problem_(op_->Bind(spec_).value()),
        inputs_(op_->MakeInputs(problem_)) {}
  void Compute(Tier tier) const { benchmark::DoNotOptimize(op_->ComputeGolden(problem_, 0, inputs_, tier)); }
  // Without the planes that only Winograd's contracts need.
  void ComputeDirectConv() const {
    benchmark::DoNotOptimize(ConvGolden(ConvArgs(problem_), problem_, inputs_, Tier::kFast));
  }

 private:
  CaseSpec spec_;
  const Operator* op_;
  Problem problem_;
  std::vector<Tensor> inputs_;
};

void GoldenAttention(benchmark::State& state) {
  const OperatorGolden golden("attention/f32/b=1,h=1,l=2048,d=64/fill=normal/seed=0");
  for (auto _ : state) golden.Compute(Tier::kFast);
  Rate(state, int64_t{2048} * 2048 * 64 * 2);
}
BENCHMARK(GoldenAttention)->UseRealTime();

struct OperatorTarget {
  const char* name;
  double target;
  const char* id;
  Tier tier;
  std::vector<Yardstick> products;
  double library_share = bench::kLibraryShare;
};

const OperatorTarget kOperatorTargets[] = {
    {"golden_matmul_f32_1024",
     0.4,
     "matmul/f32/m=1024,n=1024,k=1024/fill=normal/seed=0",
     Tier::kFast,
     {{1024, 1024, 1024}}},
    {"golden_attention_2048_64",
     0.3,
     "attention/f32/b=1,h=1,l=2048,d=64/fill=normal/seed=0",
     Tier::kFast,
     {{2048, 2048, 64}, {2048, 64, 2048}},
     0.3},  // sums of 64 terms, and outputs of 64 columns

    {"golden_matmul_f32_reproducible",
     0.1,
     "matmul/f32/m=1024,n=1024,k=1024/fill=normal/seed=0",
     Tier::kReproducible,
     {{1024, 1024, 1024}}},
    {"golden_matmul_f64_reproducible",
     0.04,
     "matmul/f64/m=1024,n=1024,k=1024/fill=normal/seed=0",
     Tier::kReproducible,
     {{1024, 1024, 1024}}},
};

struct ConvTarget {
  const char* name;
  const char* id;
  Yardstick product;
};

// ResNet-50's 3x3 convolutions: value, S, sigma and error against their target; the whole golden value with the planes
// of three Winograd transforms without one.
const ConvTarget kConvTargets[] = {
    {"golden_conv_resnet50_3x3_56",
     "conv/f32/n=1,c=64,o=64,i=56x56,k=3x3,pad=1/fill=normal/seed=0",
     {64, 56 * 56, 64 * 9}},
    {"golden_conv_resnet50_3x3_28",
     "conv/f32/n=1,c=128,o=128,i=28x28,k=3x3,pad=1/fill=normal/seed=0",
     {128, 28 * 28, 128 * 9}},
};

void CheckTargets(bench::Targets& targets) {
  for (const ConvTarget& target : kConvTargets) {
    const OperatorGolden golden(target.id);
    const auto dgemm = [&] { Dgemm(target.product); };
    bench::CheckSpeed(
        targets, target.name, 0.3, [&] { golden.ComputeDirectConv(); }, dgemm, &PeakKernels::f64,
        Flops({target.product}), 15);
    std::printf("%s with the planes of Winograd: %.3g\n", target.name,
                bench::RelativeSpeed([&] { golden.Compute(Tier::kFast); }, dgemm, 9));
  }
  for (const OperatorTarget& target : kOperatorTargets) {
    const OperatorGolden golden(target.id);
    const int rounds = target.target < 0.2 ? 5 : 15;
    bench::CheckSpeed(
        targets, target.name, target.target, [&] { golden.Compute(target.tier); }, [&] { Dgemm(target.products); },
        &PeakKernels::f64, Flops(target.products), rounds, target.library_share);
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  openblas_set_num_threads(1);
  return assay::bench::RunWithTargets(argc, argv, assay::CheckTargets);
}
