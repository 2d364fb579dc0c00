// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/hypotheses/hypotheses.h"

#include <cmath>
#include <utility>

#include "harness/judge/hypotheses/weaker_arithmetic_fit.h"

namespace assay {
namespace {

double CutTo(int precision, double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  const double significand = std::frexp(x, &exponent);
  return std::ldexp(std::trunc(std::ldexp(significand, precision)), exponent - precision);
}

FloatFormat Tf32() {
  FloatFormat format = FormatOf(DType::kF32);
  format.precision = 11;
  return format;
}

double FlushInput(DType type, double x) {
  return std::fabs(x) < FormatOf(type).MinNormal() ? std::copysign(0.0, x) : x;
}

Hypothesis Accumulates(const char* field, const char* name, Accumulator acc, DType type) {
  const auto change = [acc](Contract& c) { c.acc = acc; };
  const auto fills = [](const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics) {
    return FillsEvenly(judge, got, metrics) && FollowsRunningSums(judge, got, metrics);
  };
  Hypothesis hypothesis{field, name, change, nullptr, change, fills};
  hypothesis.results = [type](const Tensor& got) {
    // Results that a narrower accumulator leaves as well are its own.
    const FloatFormat& bf16 = FormatOf(DType::kBF16);
    const bool narrower =
        type != DType::kBF16 && FormatOf(got.dtype()).precision > bf16.precision && HoldsPrecision(bf16, got);
    // A narrow output tells nothing of what it was rounded from.
    const bool shows = FormatOf(got.dtype()).precision > FormatOf(type).precision;
    return shows && !narrower && HoldsPrecision(FormatOf(type), got);
  };
  hypothesis.accumulator = type;
  hypothesis.precision = FormatOf(type).precision;
  return hypothesis;
}

Hypothesis StoresPartials(const char* field, const char* name, Intermediate mid, DType type) {
  const auto change = [mid](Contract& c) { c.mid = mid; };
  Hypothesis hypothesis{field, name, change, nullptr, change, FillsEvenly};
  hypothesis.partials = type;
  return hypothesis;
}

std::function<void(Contract&)> ByMatrixUnit(int bits, int block) {
  return [bits, block](Contract& c) {
    c.acc = Accumulator::kTensorCore;
    c.tc_bits = bits;
    c.tc_block = block;
  };
}

// Matrix units that align a block of products and cut what lies below F fraction bits, and their f32 results.
Hypothesis Truncates(const char* field, const char* name, int bits, int block) {
  const auto change = ByMatrixUnit(bits, block);
  return {field, name, change, nullptr, change, [](const ElementJudge& judge, const Tensor& got, const ErrorMetrics&) {
            return FormatOf(judge.dtype()).precision >= FormatOf(DType::kF32).precision && LosesLikeUnit(judge, got) &&
                   IsBiased(judge, got);
          }};
}

// These units on f32 operands, which they round to tf32 first.
Hypothesis TruncatesTf32(const char* field, const char* name, InputRounding in, std::function<double(double)> round,
                         int bits, int block) {
  Hypothesis hypothesis = Truncates(field, name, bits, block);
  hypothesis.weaken = [in, unit = ByMatrixUnit(bits, block)](Contract& c) { c.in = in, unit(c); };
  hypothesis.operand = [round = std::move(round)](DType, double x) { return round(x); };
  return hypothesis;
}

// Matrix units of 13 fraction bits for fp8 operands cut their f32 results to as many.
Hypothesis Truncates13() {
  const auto change = ByMatrixUnit(13, 32);
  Hypothesis hypothesis{
      "acc=tc<13,32>",
      "a matrix unit of 13 fraction bits",
      change,
      nullptr,
      change,
      [](const ElementJudge& judge, const Tensor& got, const ErrorMetrics&) { return IsBiased(judge, got); }};
  hypothesis.results = [](const Tensor& got) {
    FloatFormat format = FormatOf(DType::kF32);
    format.precision = 14;
    return FormatOf(got.dtype()).precision > 14 && HoldsPrecision(format, got) &&
           !HoldsPrecision(FormatOf(DType::kF16), got);
  };
  hypothesis.precision = 14;
  return hypothesis;
}

Hypothesis RoundsOperands(const char* field, const char* name, InputRounding in, std::function<double(double)> round) {
  Hypothesis hypothesis{
      field, name, [in](Contract& c) { c.in = in; }, [round](DType, double x) { return round(x); }, nullptr, nullptr};
  hypothesis.halves_errors = true;
  return hypothesis;
}

double ToBf16(double x) {
  return RoundTo(FormatOf(DType::kBF16), x);
}

// a b = (a1 + a2)(b1 + b2) - a2 b2 with a1 = bf16(a), a2 = bf16(a - a1): products of bf16 parts, without the smallest.
// Sums of products alone: their first two operands are the factors.
std::optional<Golden> ThreeBf16Products(const Operator& op, const Problem& problem, size_t output,
                                        std::span<const Tensor> inputs, Tier tier) {
  const std::optional<SumForm> sum = op.TraitsOf(problem, output).sum;
  if (!sum || sum->factors != 2 || inputs[0].dtype() != DType::kF32) return std::nullopt;
  std::vector<Tensor> whole, rest;
  for (size_t k = 0; k < inputs.size(); ++k) {
    whole.push_back(inputs[k].Clone());
    rest.emplace_back(inputs[k].dtype(), inputs[k].shape());
    std::vector<double> both = inputs[k].ToDoubles(), second = both;
    if (k >= sum->factors) {
      rest[k].SetDoubles(std::vector<double>(both.size()));  // zeros: c and bias count once
      continue;
    }
    for (size_t i = 0; i < both.size(); ++i) {
      const double first = ToBf16(both[i]);
      second[i] = std::isfinite(first) ? ToBf16(both[i] - first) : 0;
      both[i] = first + second[i];
    }
    whole[k].SetDoubles(both);
    rest[k].SetDoubles(second);
  }
  Golden golden = op.ComputeGolden(problem, output, whole, tier);
  const Golden left_out = op.ComputeGolden(problem, output, rest, tier);
  for (int64_t i = 0; i < golden.size(); ++i) {
    double& y = golden.value[static_cast<size_t>(i)];
    y -= left_out.value[static_cast<size_t>(i)];
    const double rounding = std::isfinite(y) ? 0x1p-52 * std::fabs(y) : 0;
    golden.error.SetUp(i, golden.error[i] + left_out.error[i] + rounding);
  }
  return golden;
}

Hypothesis MultipliesThrice() {
  const auto bf16x3 = [](Contract& c) { c.in = InputRounding::kBF16x3; };
  Hypothesis hypothesis{"in=bf16x3", "three bf16 products", bf16x3, nullptr, nullptr, nullptr, ThreeBf16Products};
  hypothesis.roundings = 3;
  hypothesis.halves_errors = true;
  return hypothesis;
}

}  // namespace

std::vector<Hypothesis> ListHypotheses() {
  const auto flush = [](Flush what) { return [what](Contract& c) { c.ftz = what; }; };
  const auto toward_zero = [](Contract& c) { c.out = OutputRounding::kTowardZero; };
  const auto to_tf32 = [format = Tf32()](double x) { return RoundTo(format, x); };
  const auto cut_to_tf32 = [](double x) { return CutTo(11, x); };
  FloatFormat scaled_fp8 = FormatOf(DType::kF32);
  scaled_fp8.precision = FormatOf(DType::kE4M3).precision;
  return {
      {"ftz=in", "flushed operands", flush(Flush::kIn), FlushInput, nullptr, nullptr},
      {"ftz=out", "flushed results", flush(Flush::kOut), nullptr, flush(Flush::kOut), FlushesResults},
      {"ftz=all", "flushed operands and results", flush(Flush::kAll), FlushInput, flush(Flush::kOut), FlushesResults},
      {"out=rz", "rounding toward zero", toward_zero, nullptr, toward_zero, RoundsTowardZero},
      Truncates("acc=tc<25,16>", "a matrix unit of 25 fraction bits", 25, 16),
      Truncates("acc=tc<24,8>", "a matrix unit of 24 fraction bits", 24, 8),
      Truncates("acc=tc<23,4>", "a matrix unit of 23 fraction bits", 23, 4),
      MultipliesThrice(),
      RoundsOperands("in=tf32rn", "tf32", InputRounding::kTF32RN, to_tf32),
      RoundsOperands("in=tf32rz", "tf32", InputRounding::kTF32RZ, cut_to_tf32),
      TruncatesTf32("in=tf32rn;acc=tc<25,8>", "tf32 and a matrix unit of 25 fraction bits", InputRounding::kTF32RN,
                    to_tf32, 25, 8),
      TruncatesTf32("in=tf32rz;acc=tc<25,8>", "tf32 and a matrix unit of 25 fraction bits", InputRounding::kTF32RZ,
                    cut_to_tf32, 25, 8),
      TruncatesTf32("in=tf32rn;acc=tc<24,4>", "tf32 and a matrix unit of 24 fraction bits", InputRounding::kTF32RN,
                    to_tf32, 24, 4),
      TruncatesTf32("in=tf32rz;acc=tc<24,4>", "tf32 and a matrix unit of 24 fraction bits", InputRounding::kTF32RZ,
                    cut_to_tf32, 24, 4),
      Truncates13(),
      // Named where sums that are formed likewise give these results, which errors alone do not contradict.
      StoresPartials("mid=f16", "f16", Intermediate::kF16, DType::kF16),
      StoresPartials("mid=bf16", "bf16", Intermediate::kBF16, DType::kBF16),
      Accumulates("acc=f16", "f16 sums", Accumulator::kF16, DType::kF16),
      RoundsOperands("in=bf16", "bf16 operands", InputRounding::kBF16, ToBf16),
      Accumulates("acc=bf16", "bf16 sums", Accumulator::kBF16, DType::kBF16),
      RoundsOperands("in=fp8", "e4m3 operands", InputRounding::kFP8,
                     [](double x) { return RoundTo(FormatOf(DType::kE4M3), x); }),
      RoundsOperands("in=fp8", "scaled e4m3 operands", InputRounding::kFP8,
                     [scaled_fp8](double x) { return RoundTo(scaled_fp8, x); }),
  };
}

}  // namespace assay
