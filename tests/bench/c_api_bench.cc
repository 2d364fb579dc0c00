// SPDX-License-Identifier: Apache-2.0
// Time to judge an array in a test (libassay, and with it assay.assert_close): a product of 64 x 256 by 256 x 64 in
// f32, compared with the golden value's own time, which the record has. Target: at most as many times that as 1 ms was
// where the golden value took 0.12 ms (two cores of an EPYC). And the seconds for a sample of 4096 elements of a
// product of 8192 x 8192 matrices, at most 1.
#include <assay/assay.h>
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/targets.h"

namespace assay::bench {
namespace {

constexpr int64_t kRows = 64, kTerms = 256;
constexpr double kTargetRatio = 1 / 0.12;
constexpr int kCalls = 400;
constexpr int64_t kLargeExtent = 8192;

assay_array Matrix(const float* data, const int64_t* shape) {
  assay_array array{};
  array.struct_size = sizeof array;
  array.data = data, array.shape = shape, array.rank = 2;
  array.type_code = ASSAY_FLOAT, array.bits = 32, array.lanes = 1;
  return array;
}

// The verdict's record, of a product that has to pass; `sample` as in assay_question.
std::string JudgeProduct(const assay_array& a, const assay_array& b, const assay_array& y, uint64_t sample) {
  const assay_array *inputs[] = {&a, &b}, *outputs[] = {&y};
  assay_question question{};
  question.struct_size = sizeof question;
  question.op = "matmul";
  question.n_inputs = 2, question.inputs = inputs;
  question.n_outputs = 1, question.outputs = outputs;
  question.sample = sample;
  assay_verdict* verdict = nullptr;
  if (assay_judge(&question, &verdict) != ASSAY_RESULT_OK || assay_verdict_passed(verdict) == 0) {
    std::fprintf(stderr, "the product does not pass: %s\n",
                 verdict == nullptr ? assay_last_error() : assay_verdict_text(verdict));
    std::exit(2);
  }
  std::string record = assay_verdict_record(verdict);
  assay_verdict_free(verdict);
  return record;
}

class Product {
 public:
  Product() {
    for (size_t i = 0; i < a_.size(); ++i) {
      a_[i] = static_cast<float>(std::sin(static_cast<double>(i * i % 9973)));
      b_[i] = static_cast<float>(std::cos(static_cast<double>(i * i % 8191)));
    }
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t column = 0; column < kRows; ++column) {
        for (int64_t k = 0; k < kTerms; ++k) {
          y_[row * kRows + column] += a_[row * kTerms + k] * b_[k * kRows + column];
        }
      }
    }
  }
  Product(const Product&) = delete;

  // The seconds of the golden value, of a judgement.
  double Judge() const {
    const assay_array a = Matrix(a_.data(), a_shape_), b = Matrix(b_.data(), b_shape_), y = Matrix(y_.data(), y_shape_);
    const std::string record = JudgeProduct(a, b, y, 0), key = "\"golden_s\":";
    return std::strtod(record.c_str() + record.find(key) + key.size(), nullptr);
  }

 private:
  std::vector<float> a_ = std::vector<float>(kRows * kTerms), b_ = a_, y_ = std::vector<float>(kRows * kRows);
  int64_t a_shape_[2] = {kRows, kTerms}, b_shape_[2] = {kTerms, kRows}, y_shape_[2] = {kRows, kRows};
};

void BM_Judge(benchmark::State& state) {
  const Product product;
  double golden_s = 0;
  for (auto _ : state) golden_s += product.Judge();
  state.counters["golden_s"] = benchmark::Counter(golden_s, benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_Judge)->Unit(benchmark::kMillisecond);

// The product with a matrix that puts the columns of the first one in reverse order, which takes no time to compute.
double SecondsOfSample() {
  const size_t n = kLargeExtent;
  const int64_t shape[2] = {kLargeExtent, kLargeExtent};
  std::vector<float> a(n * n), b(n * n), y(n * n);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i * i % 9973) - 4986.5F;
    y[i / n * n + (n - 1 - i % n)] = a[i];
  }
  for (size_t k = 0; k < n; ++k) b[k * n + (n - 1 - k)] = 1;
  const assay_array all[] = {Matrix(a.data(), shape), Matrix(b.data(), shape), Matrix(y.data(), shape)};
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) seconds.push_back(SecondsOf([&] { JudgeProduct(all[0], all[1], all[2], 4096); }));
  return Median(std::move(seconds));
}

void Check(Targets& targets) {
  const Product product;
  std::vector<double> ratios;
  for (int i = 0; i < kCalls; ++i) {
    double golden_s = 0;
    const double call_s = SecondsOf([&] { golden_s = product.Judge(); });
    ratios.push_back((call_s - golden_s) / golden_s);
  }
  targets.AtMost("judge_64x64x256_above_golden_in_golden_times", kTargetRatio, Median(std::move(ratios)));
  targets.AtMost("judge_4096_elements_of_8192x8192x8192_s", 1, SecondsOfSample());
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  return assay::bench::RunWithTargets(argc, argv, assay::bench::Check);
}
