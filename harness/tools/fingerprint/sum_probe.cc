// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/sum_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/softmax/softmax.h"

namespace assay {
namespace {

constexpr int kMostSums = 256;
// An order takes as many probes as a sum has terms, and each fills all of them.
constexpr int64_t kMostTerms = int64_t{1} << 14;

// Results are counts of terms, which the output's type holds exactly up to 2^precision.
Status CheckTerms(const Problem& problem, int64_t terms) {
  const DType out = problem.outputs[0].dtype;
  const int64_t most = std::min(kMostTerms, int64_t{1} << std::min(FormatOf(out).precision, 62));
  if (2 <= terms && terms <= most) return {};
  return UsageError(fmt::format("{}: its sums have {} terms; the order of 2 to {} can be found with results of {}",
                                problem.spec.Id(), terms, most, Name(out)));
}

Status CheckPlain(const Problem& problem, std::initializer_list<std::pair<const char*, int64_t>> needed) {
  for (const auto& [key, value] : needed) {
    if (problem.Int(key) == value) continue;
    return UsageError(
        fmt::format("{}: the terms of its sums are only known with {}={}", problem.spec.Id(), key, value));
  }
  return {};
}

std::vector<std::vector<double>> ZerosFor(const Problem& problem) {
  std::vector<std::vector<double>> values;
  for (const Operand& operand : problem.inputs) values.emplace_back(static_cast<size_t>(NumElements(operand.shape)));
  return values;
}

std::vector<Tensor> RoundedTo(const Problem& problem, const std::vector<std::vector<double>>& values) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    inputs.emplace_back(problem.inputs[i].dtype, problem.inputs[i].shape);
    inputs.back().SetDoubles(values[i]);
  }
  return inputs;
}

}  // namespace

Result<SumProbe> SumProbe::Make(const Problem& problem) {
  const std::string& op = problem.spec.op;
  const auto is_float = [](const Operand& operand) { return IsFloat(operand.dtype); };
  if (!std::ranges::all_of(problem.inputs, is_float) || !std::ranges::all_of(problem.outputs, is_float)) {
    return UsageError(problem.spec.Id() + ": fingerprints are taken of floats; integers add exactly in any order");
  }
  const auto extent = [&](const char* key) { return problem.Int(key); };
  SumProbe made;
  Status plain;
  int64_t sums = 0, terms = 0, all_a = 0, all_b = 0;  // all_*: of each operand, where they are more than sums
  if (op == "matmul") {
    plain = CheckPlain(problem, {{"batch", 1}, {"transa", 0}, {"transb", 0}, {"bias", 0}});
    if (plain && (problem.Float("alpha") != 1 || problem.Float("beta") != 0)) {
      plain = UsageError(problem.spec.Id() + ": the terms of its sums are only known with alpha=1,beta=0");
    }
    const int64_t m = extent("m"), n = extent("n"), k = extent("k");
    sums = std::min(m, n), terms = k;
    all_a = m, all_b = n;
    made.places_a_ = [k](int sum, int term) { return sum * k + term; };
    made.places_b_ = [n](int sum, int term) { return term * n + sum; };
    made.place_y_ = [n](int sum) { return sum * n + sum; };
  } else if (op == "associative_scan") {  // h_t = 1 h_(t-1) + b_t
    const Shape& shape = problem.inputs[1].shape;
    sums = shape[0], terms = shape[1];
    made.operand_a_ = 1, made.ones_ = {0};
    made.places_a_ = [n = terms](int sum, int term) { return sum * n + term; };
    made.place_y_ = [n = terms](int sum) { return (sum + 1) * n - 1; };
    for (int64_t row = 0; row < sums; ++row) made.places_y_.push_back((row + 1) * terms - 1);
  } else if (op == "layer_norm" || op == "group_norm" || op == "instance_norm" || op == "batch_norm_training") {
    const DType x = problem.inputs[0].dtype;
    if ((x != DType::kF32 && x != DType::kF64) || problem.outputs[0].dtype != x) {
      return Fail(ErrorCode::kUnsupported, "its results show no order of its means; those of f32 and f64 do");
    }
    const Shape& shape = problem.inputs[0].shape;  // of batch norm [images, channels, places], else rows
    const bool is_batch = op == "batch_norm_training";
    const int64_t inner = op == "group_norm" ? shape[2] * shape[3] : shape.back(), channels = is_batch ? shape[1] : 1;
    sums = is_batch ? channels : NumElements(shape) / inner, terms = is_batch ? shape[0] * inner : inner;
    made.large_ = x == DType::kF64 ? 0x1p80 : 0x1p40;
    made.ones_ = {1};
    made.places_a_ = [=](int sum, int term) {
      return is_batch ? (term / inner * channels + sum) * inner + term % inner : sum * inner + term;
    };
    made.place_y_ = [of = made.places_a_](int sum) { return of(sum, 0); };
    for (int64_t sum = 0; sum < sums; ++sum) made.places_y_.push_back(made.places_a_(static_cast<int>(sum), 0));
  } else if (op == "reduce" || op == "cumsum") {
    const Shape& shape = problem.inputs[0].shape;
    if (op == "reduce" && (problem.Text("kind") == "max" || problem.Text("kind") == "min")) {
      return Fail(ErrorCode::kUnsupported, problem.spec.Id() + ": it adds nothing");
    }
    if (op == "reduce" &&
        (problem.Text("kind") != "sum" || shape.size() != 2 || problem.List("axes") != std::vector<int64_t>{1})) {
      plain =
          UsageError(problem.spec.Id() + ": the terms of its sums are only known with kind=sum, two axes and axes=1");
    }
    sums = shape[0], terms = shape.back();
    made.places_a_ = [n = terms](int sum, int term) { return sum * n + term; };
    made.place_y_ = op == "reduce" ? std::function<int64_t(int)>([](int sum) { return sum; })
                                   : [n = terms](int sum) { return (sum + 1) * n - 1; };
    for (int64_t row = 0; op == "cumsum" && row < sums; ++row) made.places_y_.push_back((row + 1) * terms - 1);
  } else if (op == "conv") {
    plain = CheckPlain(problem, {{"groups", 1}, {"bias", 0}});
    const Shape &x = problem.inputs[0].shape, &w = problem.inputs[1].shape, &y = problem.outputs[0].shape;
    if (plain && (x.size() != 4 || problem.List("pad") != std::vector<int64_t>(problem.List("pad").size(), 0) ||
                  problem.List("dilation") != std::vector<int64_t>(problem.List("dilation").size(), 1))) {
      plain = UsageError(problem.spec.Id() + ": the terms of its sums are only known in two dimensions with pad=0");
    }
    if (!plain) return tl::unexpected(plain.error());
    sums = std::min(x[0], w[0]), terms = w[1] * w[2] * w[3];
    made.places_a_ = [x, w](int sum, int term) {
      const int64_t column = term % w[3], row = term / w[3] % w[2], channel = term / w[3] / w[2];
      return ((sum * x[1] + channel) * x[2] + row) * x[3] + column;
    };
    made.places_b_ = [terms](int sum, int term) { return sum * terms + term; };
    made.place_y_ = [y](int sum) { return (sum * y[1] + sum) * y[2] * y[3]; };
    all_a = x[0], all_b = w[0];
    for (int64_t i = 0; i < y[0] * y[1]; ++i) made.places_y_.push_back(i * y[2] * y[3]);
  } else if (op == "attention") {
    if (problem.Int("causal") == 1) {
      return Fail(ErrorCode::kUnsupported, problem.spec.Id() + ": the terms of its sums are only known with causal=0");
    }
    plain = CheckPlain(problem, {{"window", 0}});
    const Shape &v = problem.inputs[2].shape, &o = problem.outputs[0].shape;
    if (plain &&
        (problem.Text("mask") != "none" || v[1] != o[1] || !std::has_single_bit(static_cast<uint64_t>(v[2])))) {
      plain = UsageError(problem.spec.Id() +
                         ": the terms of its sums are only known with mask=none, hkv=h and a power of two of keys");
    }
    // Scores are all zero, so that each weight is a power of two, before the division or after it.
    const int64_t keys = v[2], columns = v[3];
    sums = v[0] * v[1] * columns, terms = keys;
    made.operand_a_ = 2;
    made.places_a_ = [keys, columns](int sum, int term) {
      return (sum / columns * keys + term) * columns + sum % columns;
    };
    made.place_y_ = [columns, queries = o[2]](int sum) { return sum / columns * queries * columns + sum % columns; };
    made.output_factor_ = static_cast<double>(keys);
  } else if (op == "softmax") {
    const SoftmaxArgs args(problem);
    constexpr int64_t kMostExponentials = 256;  // which take the square of it in rows of probes
    const bool shows = !args.log && args.inner == 1 && FormatOf(problem.outputs[0].dtype).precision >= 24 &&
                       problem.inputs[0].dtype == problem.outputs[0].dtype && args.terms <= kMostExponentials;
    if (!shows) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("its results show no order of its sums; rows of 2 to {} elements of f32 or f64 do, along "
                              "the last axis and with log=0",
                              kMostExponentials));
    }
    sums = args.rows, terms = args.terms;
    made.are_exponentials_ = true;
    made.places_a_ = [n = terms](int sum, int term) { return sum * n + term; };
    made.place_y_ = [n = terms](int sum) { return sum * n; };
    for (int64_t row = 0; row < sums; ++row) made.places_y_.push_back(row * terms);
  } else {
    return Fail(ErrorCode::kUnsupported, op + ": orders are found of matmul, conv, reduce, cumsum, associative_scan, "
                                              "attention, softmax, layer_norm, group_norm, instance_norm and "
                                              "batch_norm_training, and the accuracy of functions of "
                                              "[n] elements with n=65536 of a 16-bit type, n=4194304 of another");
  }
  if (plain) plain = CheckTerms(problem, terms);
  if (!plain) return tl::unexpected(plain.error());
  made.all_a_ = static_cast<int>(std::max(all_a, sums)), made.all_b_ = static_cast<int>(std::max(all_b, sums));
  made.sums_ = static_cast<int>(std::min<int64_t>(sums, kMostSums)), made.terms_ = static_cast<int>(terms);
  return made;
}

// The exponential of kNothing is 0 beside that of any other term.
double SumProbe::OperandOf(double term) const {
  constexpr double kNothing = -1000;
  if (!are_exponentials_) return term;
  return term == 0 ? kNothing : std::log(std::fabs(term));
}

// The largest term of a softmax is 1, and its result one over the sum. Of a row with a mean the ones are (1 - mean) / d
// and the largest number is itself / d, as the mean is nothing beside it.
double SumProbe::Read(std::span<const double> output, int sum) const {
  if (is_mean()) {
    double largest = 0, one = HUGE_VAL;
    for (int term = 0; term < terms_; ++term) {
      const double y = output[static_cast<size_t>(places_a_(sum, term))];
      largest = std::max(largest, y);
      one = std::fabs(y) < std::fabs(one) ? y : one;
    }
    return terms_ * (1 - one / largest * large_);
  }
  if (!are_exponentials_) return output[place_y_(sum)] * output_factor_;
  const auto row = output.subspan(static_cast<size_t>(place_y_(sum)), static_cast<size_t>(terms_));
  return 1 / *std::ranges::max_element(row);
}

// Operands without the terms.
std::vector<std::vector<double>> SumProbe::Blank(const Problem& problem) const {
  std::vector<std::vector<double>> values = ZerosFor(problem);
  for (const size_t operand : ones_) std::ranges::fill(values[operand], 1);
  return values;
}

std::vector<Tensor> SumProbe::MakeAlike(const Problem& problem, const ProbeSum& sum) const {
  std::vector<std::vector<double>> values = Blank(problem);
  for (int term = 0; term < terms_; ++term) {
    for (int s = 0; s < all_a_; ++s) values[operand_a_][places_a_(s, term)] = OperandOf(sum[term].a);
    for (int s = 0; places_b_ && s < all_b_; ++s) values[operand_b_][places_b_(s, term)] = sum[term].b;
  }
  return RoundedTo(problem, values);
}

bool SumProbe::AreAlike(std::span<const double> output) const {
  const double first = output[places_y_.empty() ? 0 : places_y_.front()];
  const auto same = [&](double y) { return y == first || (std::isnan(y) && std::isnan(first)); };
  if (places_y_.empty()) return std::ranges::all_of(output, same);
  return std::ranges::all_of(places_y_, [&](int64_t i) { return same(output[i]); });
}

std::vector<Tensor> SumProbe::MakeInputs(const Problem& problem, std::span<const ProbeSum> sums) const {
  std::vector<std::vector<double>> values = Blank(problem);
  for (int sum = 0; sum < std::ssize(sums); ++sum) {
    for (int term = 0; term < terms_; ++term) {
      values[operand_a_][places_a_(sum, term)] = OperandOf(sums[sum][term].a);
      if (places_b_) values[operand_b_][places_b_(sum, term)] = sums[sum][term].b;
    }
  }
  return RoundedTo(problem, values);
}

}  // namespace assay
