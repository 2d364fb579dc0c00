// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/sum_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "ops/softmax/softmax.h"

namespace assay {
namespace {

// Positive terms take the square of it in rows of probes.
constexpr int64_t kMostPositive = 512;

Status CheckPlain(const Problem& problem, std::initializer_list<std::pair<const char*, int64_t>> needed) {
  for (const auto& [key, value] : needed) {
    if (problem.Int(key) == value) continue;
    return UsageError(
        fmt::format("{}: the terms of its sums are only known with {}={}", problem.spec.Id(), key, value));
  }
  return {};
}

// Whether first operand and first output are both f32 or both f64.
bool IsWideAndAlike(const Problem& problem) {
  const DType x = problem.inputs[0].dtype;
  return (x == DType::kF32 || x == DType::kF64) && problem.outputs[0].dtype == x;
}

tl::unexpected<Error> NoOrder(const std::string& what) {
  return Fail(ErrorCode::kUnsupported, "its results show no order of its " + what);
}

tl::unexpected<Error> NoOrderOfPositive() {
  return NoOrder(fmt::format("sums; rows of 2 to {} elements of f32 or f64 do, along the last axis", kMostPositive));
}

SumLayout RowsOf(int64_t rows, int64_t terms) {
  SumLayout of{.terms = terms, .sums = rows};
  of.place_a = [terms](int sum, int term) { return sum * terms + term; };
  return of;
}

// Lays out rows whose last result alone has the whole sum.
SumLayout ScanOf(int64_t rows, int64_t terms) {
  SumLayout of = RowsOf(rows, terms);
  of.place_y = [terms](int sum) { return (sum + 1) * terms - 1; };
  for (int64_t row = 0; row < rows; ++row) of.places_y.push_back((row + 1) * terms - 1);
  return of;
}

Result<SumLayout> LayOutMatmul(const Problem& problem) {
  if (Status plain = CheckPlain(problem, {{"batch", 1}, {"transa", 0}, {"transb", 0}, {"bias", 0}}); !plain) {
    return tl::unexpected(plain.error());
  }
  if (problem.Float("alpha") != 1 || problem.Float("beta") != 0) {
    return UsageError(problem.spec.Id() + ": the terms of its sums are only known with alpha=1,beta=0");
  }
  const int64_t m = problem.Int("m"), n = problem.Int("n"), k = problem.Int("k");
  SumLayout of{.terms = k, .sums = std::min(m, n), .all_a = m, .all_b = n};
  of.place_a = [k](int sum, int term) { return sum * k + term; };
  of.place_b = [n](int sum, int term) { return term * n + sum; };
  of.place_y = [n](int sum) { return sum * n + sum; };
  return of;
}

// h_t = 1 h_(t-1) + b_t
Result<SumLayout> LayOutAssociativeScan(const Problem& problem) {
  const Shape& shape = problem.inputs[1].shape;
  SumLayout of = ScanOf(shape[0], shape[1]);
  of.operand_a = 1, of.ones = {0};
  return of;
}

Result<SumLayout> LayOutCumsum(const Problem& problem) {
  return ScanOf(problem.inputs[0].shape[0], problem.inputs[0].shape.back());
}

// The logarithm of a sum of exponentials, of which the largest is 1.
double SumOfLogarithm(std::span<const double> y) {
  return std::exp(std::fabs(y.front()));
}

Result<SumLayout> LayOutReduce(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const std::string kind(problem.Text("kind"));
  if (kind == "max" || kind == "min") {
    return Fail(ErrorCode::kUnsupported, problem.spec.Id() + ": it adds nothing");
  }
  const bool is_positive = kind == "l2" || kind == "logsumexp";
  if ((kind != "sum" && !is_positive) || shape.size() != 2 || problem.List("axes") != std::vector<int64_t>{1}) {
    return UsageError(problem.spec.Id() +
                      ": the terms of its sums are only known with kind=sum, l2 or logsumexp, two axes and axes=1");
  }
  if (is_positive && (!IsWideAndAlike(problem) || shape[1] > kMostPositive)) return NoOrderOfPositive();
  SumLayout of = RowsOf(shape[0], shape[1]);
  of.place_y = [](int sum) { return sum; };
  if (kind == "l2") of.kind = SumKind::kSquares;
  if (kind == "logsumexp") of.kind = SumKind::kExponentials, of.read = SumOfLogarithm;
  return of;
}

Result<SumLayout> LayOutConv(const Problem& problem) {
  if (Status plain = CheckPlain(problem, {{"groups", 1}, {"bias", 0}}); !plain) return tl::unexpected(plain.error());
  const Shape &x = problem.inputs[0].shape, &w = problem.inputs[1].shape, &y = problem.outputs[0].shape;
  const auto is_all = [&](const char* key, int64_t value) {
    return problem.List(key) == std::vector<int64_t>(problem.List(key).size(), value);
  };
  if (x.size() != 4 || !is_all("pad", 0) || !is_all("dilation", 1)) {
    return UsageError(problem.spec.Id() + ": the terms of its sums are only known in two dimensions with pad=0");
  }
  SumLayout of{.terms = w[1] * w[2] * w[3], .sums = std::min(x[0], w[0]), .all_a = x[0], .all_b = w[0]};
  of.place_a = [x, w](int sum, int term) {
    const int64_t column = term % w[3], row = term / w[3] % w[2], channel = term / w[3] / w[2];
    return ((sum * x[1] + channel) * x[2] + row) * x[3] + column;
  };
  of.place_b = [terms = of.terms](int sum, int term) { return sum * terms + term; };
  of.place_y = [y](int sum) { return (sum * y[1] + sum) * y[2] * y[3]; };
  for (int64_t i = 0; i < y[0] * y[1]; ++i) of.places_y.push_back(i * y[2] * y[3]);
  return of;
}

// Scores are all zero, so that each weight is a power of two, before the division or after it.
Result<SumLayout> LayOutAttention(const Problem& problem) {
  if (problem.Int("causal") == 1) {
    return Fail(ErrorCode::kUnsupported, problem.spec.Id() + ": the terms of its sums are only known with causal=0");
  }
  if (Status plain = CheckPlain(problem, {{"window", 0}}); !plain) return tl::unexpected(plain.error());
  const Shape &v = problem.inputs[2].shape, &o = problem.outputs[0].shape;
  if (problem.Text("mask") != "none" || v[1] != o[1] || !std::has_single_bit(static_cast<uint64_t>(v[2]))) {
    return UsageError(problem.spec.Id() +
                      ": the terms of its sums are only known with mask=none, hkv=h and a power of two of keys");
  }
  const int64_t keys = v[2], columns = v[3];
  SumLayout of{.terms = keys, .sums = v[0] * v[1] * columns, .operand_a = 2};
  of.place_a = [keys, columns](int sum, int term) { return (sum / columns * keys + term) * columns + sum % columns; };
  of.place_y = [columns, queries = o[2]](int sum) { return sum / columns * queries * columns + sum % columns; };
  of.output_factor = static_cast<double>(keys);
  return of;
}

Result<SumLayout> LayOutSoftmax(const Problem& problem) {
  const SoftmaxArgs args(problem);
  const bool is_wide = problem.inputs[0].dtype == problem.outputs[0].dtype && IsWideAndAlike(problem);
  if (!is_wide || args.inner != 1 || args.terms > kMostPositive) return NoOrderOfPositive();
  SumLayout of = RowsOf(args.rows, args.terms);
  of.kind = SumKind::kExponentials, of.is_row = true;
  of.place_y = [n = args.terms](int sum) { return sum * n; };
  for (int64_t row = 0; row < args.rows; ++row) of.places_y.push_back(row * args.terms);
  // The largest term is 1, and its result one over the sum, or the negative logarithm of the sum.
  of.read = args.log ? [](std::span<const double> y) { return std::exp(-*std::ranges::max_element(y)); }
                     : [](std::span<const double> y) { return 1 / *std::ranges::max_element(y); };
  return of;
}

Result<SumLayout> LayOutCrossEntropy(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  if (problem.Text("reduction") != "none" || problem.Float("smoothing") != 0 || problem.Int("ignore") >= 0) {
    return NoOrder("sums; they do with reduction=none,smoothing=0,ignore=-1");
  }
  if (!IsWideAndAlike(problem) || shape[1] > kMostPositive) return NoOrderOfPositive();
  SumLayout of = RowsOf(shape[0], shape[1]);
  of.kind = SumKind::kExponentials, of.labels = 1;
  of.place_y = [](int sum) { return sum; };
  of.read = SumOfLogarithm;
  return of;
}

Result<SumLayout> LayOutRmsNorm(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const int64_t terms = shape.back();
  if (!IsWideAndAlike(problem) || terms > kMostPositive) return NoOrderOfPositive();
  SumLayout of = RowsOf(NumElements(shape) / terms, terms);
  of.kind = SumKind::kSquares, of.is_row = true;
  of.ones = {1};
  of.place_y = [terms](int sum) { return sum * terms; };
  for (int64_t row = 0; row < of.sums; ++row) of.places_y.push_back(row * terms);
  return of;
}

// Rows of norms that subtract a mean; of batch norm x is [images, channels, places].
SumLayout NormRowsOf(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const bool is_group = problem.spec.op == "group_norm", is_batch = problem.spec.op == "batch_norm_training";
  const int64_t inner = is_group ? shape[2] * shape[3] : shape.back();
  SumLayout of = RowsOf(NumElements(shape) / inner, inner);
  if (is_batch) {
    of.sums = shape[1], of.terms = shape[0] * inner;
    of.place_a = [inner, channels = of.sums](int sum, int term) {
      return (term / inner * channels + sum) * inner + term % inner;
    };
  }
  of.ones = {1}, of.is_row = true;
  of.place_y = [place = of.place_a](int sum) { return place(sum, 0); };
  for (int64_t sum = 0; sum < of.sums; ++sum) of.places_y.push_back(of.place_a(static_cast<int>(sum), 0));
  return of;
}

// The ones of a row are (1 - mean) / d and its largest number is itself / d, as the mean is nothing beside it.
Result<SumLayout> LayOutMean(const Problem& problem) {
  if (!IsWideAndAlike(problem)) return NoOrder("means; those of f32 and f64 do");
  SumLayout of = NormRowsOf(problem);
  of.kind = SumKind::kMean;
  of.large = problem.inputs[0].dtype == DType::kF64 ? 0x1p80 : 0x1p40;
  of.read = [large = of.large, terms = static_cast<double>(of.terms)](std::span<const double> y) {
    const double largest = *std::ranges::max_element(y);
    const double one = *std::ranges::min_element(y, {}, [](double x) { return std::fabs(x); });
    return terms * (1 - one / largest * large);
  };
  return of;
}

using LayOut = Result<SumLayout> (*)(const Problem&);
const std::map<std::string, LayOut, std::less<>>& Layouts() {
  static const std::map<std::string, LayOut, std::less<>> layouts = {
      {"matmul", LayOutMatmul},
      {"conv", LayOutConv},
      {"reduce", LayOutReduce},
      {"cumsum", LayOutCumsum},
      {"attention", LayOutAttention},
      {"associative_scan", LayOutAssociativeScan},
      {"softmax", LayOutSoftmax},
      {"cross_entropy", LayOutCrossEntropy},
      {"rms_norm", LayOutRmsNorm},
      {"layer_norm", LayOutMean},
      {"group_norm", LayOutMean},
      {"instance_norm", LayOutMean},
      {"batch_norm_training", LayOutMean},
  };
  return layouts;
}

}  // namespace

Result<SumLayout> LayOutSums(const Problem& problem) {
  if (const auto found = Layouts().find(problem.spec.op); found != Layouts().end()) return found->second(problem);
  return Fail(ErrorCode::kUnsupported,
              problem.spec.op +
                  ": orders are found of matmul, conv, reduce, cumsum, associative_scan, attention, softmax, "
                  "cross_entropy, rms_norm, layer_norm, group_norm, instance_norm and batch_norm_training, and the "
                  "accuracy of functions of [n] elements with n=65536 of a 16-bit type, n=4194304 of another");
}

Result<SumLayout> LayOutVariance(const Problem& problem) {
  const auto found = Layouts().find(problem.spec.op);
  if (found == Layouts().end() || found->second != LayOutMean || !IsWideAndAlike(problem)) {
    return NoOrder("variance; norms of f32 and f64 do");
  }
  SumLayout of = NormRowsOf(problem);
  constexpr int64_t kLeast = 19;  // three terms of a probe, and 16 by which all have the mean 0
  if (of.terms < kLeast || of.terms > kMostPositive) {
    return NoOrder(fmt::format("variance; sums of {} to {} terms do", kLeast, kMostPositive));
  }
  of.kind = SumKind::kDeviations;
  return of;
}

}  // namespace assay
