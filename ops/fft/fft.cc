// SPDX-License-Identifier: Apache-2.0
// The operator fft: y[b,k] = scale sum_j x[b,j] e^(s 2 pi i sum_a j_a k_a / n_a), s = -1 for dir=fwd and +1 for
// dir=inv. The batch axis is always there. c2c transforms c64 or c128; r2c takes f32-c64 or f64-c128 and keeps the
// first n/2 + 1 elements of the last axis; c2r (c64-f32, c128-f64) takes those and gives the n real ones, so that n is
// the shape of the real side in both. Both directions exist for every kind (NumPy's rfft, ihfft, irfft, hfft).
// Bound, twin and mutants in fft_bound.cc, fft_twin.cc and fft_mutants.cc.
#include "ops/fft/fft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ops/binding.h"
#include "ops/case_space.h"
#include "ops/relation.h"

namespace assay {

FftArgs FftArgsOf(const Problem& problem) {
  const std::string &kind = problem.Text("kind"), &norm = problem.Text("norm");
  return {.kind = kind == "c2c"   ? FftKind::kC2C
                  : kind == "r2c" ? FftKind::kR2C
                                  : FftKind::kC2R,
          .n = problem.List("n"),
          .batch = problem.Int("batch"),
          .inverse = problem.Text("dir") == "inv",
          .norm = norm == "none"    ? FftNorm::kNone
                  : norm == "ortho" ? FftNorm::kOrtho
                                    : FftNorm::kBackward};
}

void MakeHermitian(const FftArgs& fft, std::span<double> x) {
  const int64_t last = fft.n.back(), half = last / 2 + 1, rows = fft.Points() / last;
  for (int64_t b = 0; b < fft.batch; ++b) {
    double* spectrum = x.data() + 2 * b * rows * half;
    for (int64_t row = 0; row < rows; ++row) {
      for (const int64_t column : {int64_t{0}, half - 1}) {
        if (column != 0 && 2 * column != last) continue;
        const int64_t mirror = MirrorRow(fft.n, row);
        double* here = spectrum + 2 * (row * half + column);
        double* there = spectrum + 2 * (mirror * half + column);
        if (mirror == row) here[1] = 0;
        if (mirror > row) there[0] = here[0], there[1] = -here[1];
      }
    }
  }
}

namespace {

// The whole spectrum is held in memory several times over; beyond this a case is a mistake.
constexpr int64_t kMaxPoints = int64_t{1} << 32;

OpSchema FftSchema() {
  return {
      .op = "fft",
      .doc = "y = scale sum_j x_j e^(-+2 pi i jk/n), over all axes of n",
      .attrs =
          {{"kind",
            AttrType::kName,
            "",
            "complex to complex, or real to or from half a spectrum",
            {"c2c", "r2c", "c2r"}},
           {"n", AttrType::kDims, "",
            "lengths of the transformed axes, of the real side for r2c and c2r; check needs it for c2r of odd length"},
           {"batch", AttrType::kInt, "1", "independent transforms, the leading axis"},
           {"dir", AttrType::kName, "fwd", "sign of the exponent: fwd -, inv +", {"fwd", "inv"}},
           {"norm",
            AttrType::kName,
            "none",
            "none: scale 1; ortho: 1/sqrt(N); backward: 1/N with dir=inv",
            {"none", "ortho", "backward"}}},
      .operands = {"x", "y"},
      .outputs = {"y"},
      .layouts = {{"x", "[batch,n...]", "no batch axis when batch=1; c2r: the last axis is n/2+1"},
                  {"y", "[batch,n...]", "r2c: the last axis is n/2+1"}}};
}

std::string CheckFftTypes(FftKind kind, DType x, DType y) {
  const bool wide = x == DType::kF64 || x == DType::kC128;
  const DType real = wide ? DType::kF64 : DType::kF32, complex = wide ? DType::kC128 : DType::kC64;
  switch (kind) {
    case FftKind::kC2C:
      if (x == complex && y == complex) return {};
      return fmt::format("kind=c2c transforms c64 or c128, not {}-{}{}", Name(x), Name(y),
                         IsComplex(x) == IsComplex(y) ? "" : "; say kind=r2c or kind=c2r for a real side");
    case FftKind::kR2C:
      if (x == real && y == complex) return {};
      return fmt::format("kind=r2c transforms f32-c64 or f64-c128, not {}-{}", Name(x), Name(y));
    case FftKind::kC2R:
      if (x == complex && y == real) return {};
      return fmt::format("kind=c2r transforms c64-f32 or c128-f64, not {}-{}", Name(x), Name(y));
  }
  return {};
}

std::string CheckTransform(const Problem& problem) {
  if (problem.Int("batch") < 0) return fmt::format("batch={} must not be negative", problem.Int("batch"));
  double points = static_cast<double>(std::max<int64_t>(problem.Int("batch"), 1));
  for (const int64_t n : problem.List("n")) {
    if (n < 1) return fmt::format("n={}: every length must be at least 1, as there is no transform of no points", n);
    points *= static_cast<double>(n);
  }
  if (points > static_cast<double>(kMaxPoints))
    return fmt::format("n={},batch={} are {} points; at most 2^32", fmt::join(problem.List("n"), "x"),
                       problem.Int("batch"), points);

  return {};
}

// Whether the leading axis of a user's tensor is the batch: as many axes as n has are not.
bool HasBatchAxis(const Shape& shape, const AttrList& given) {
  if (const std::string* n = FindGiven(given, "n")) return std::ssize(shape) > 1 + std::ranges::count(*n, 'x');
  const std::string* batch = FindGiven(given, "batch");
  return shape.size() > 1 && (batch == nullptr || *batch != "1");
}

// A half spectrum of m points belongs to 2m-2 real points or to 2m-1. The error's text where the result has the latter
// and nothing says that this is right.
std::string OddLengthProblem(const std::vector<Operand>& operands, const AttrList& given, Shape lengths) {
  const Operand* y = FindOperand(operands, "y");
  const int64_t odd = lengths.back() + 1;
  if (y == nullptr || y->shape.empty() || y->shape.back() != odd || FindGiven(given, "n") != nullptr) return "";
  lengths.back() = odd;
  return fmt::format(
      "fft: x has {} points of half a spectrum, which are of {} or {} real ones, and y has {}: c2r of odd "
      "length needs --attr n={}",
      odd / 2 + 1, odd - 1, odd, odd, ShapeText(lengths));
}

Shape WithBatch(int64_t batch, Shape axes) {
  axes.insert(axes.begin(), batch);
  return axes;
}

class Fft final : public Operator {
 public:
  const OpSchema& schema() const override {
    static const OpSchema schema = FftSchema();
    return schema;
  }

  // A leading axis of several is the batch, unless the attributes say otherwise. The length of a c2r result cannot be
  // seen from its input: 2 (m - 1), the even one, is assumed.
  Result<AttrList> InferAttrs(const std::vector<Operand>& operands, AttrList given) const override {
    const Operand& x = *FindOperand(operands, "x");
    if (x.shape.empty()) return UsageError("fft: x is a scalar; give it an axis");
    SetIfAbsent(given, "kind", IsComplex(x.dtype) ? "c2c" : "r2c");
    const bool has_batch = HasBatchAxis(x.shape, given);
    if (has_batch) SetIfAbsent(given, "batch", std::to_string(x.shape[0]));
    Shape lengths(x.shape.begin() + (has_batch ? 1 : 0), x.shape.end());
    if (*FindGiven(given, "kind") == "c2r") {
      lengths.back() = 2 * (lengths.back() - 1);
      if (const std::string text = OddLengthProblem(operands, given, lengths); !text.empty()) return UsageError(text);
    }
    SetIfAbsent(given, "n", ShapeText(lengths));
    return given;
  }

  Result<Problem> Bind(const CaseSpec& spec) const override {
    Result<Problem> problem = StartProblem(spec, schema());
    if (!problem) return problem;
    if (const std::string text = CheckTransform(*problem); !text.empty()) return BindError(*problem, text);
    const FftArgs fft = FftArgsOf(*problem);
    const DType x = problem->spec.dtypes.front(), y = problem->spec.dtypes.back();
    if (const std::string text = CheckFftTypes(fft.kind, x, y); !text.empty()) return BindError(*problem, text);
    problem->inputs = {{"x", x, WithBatch(fft.batch, fft.InputAxes())}};
    problem->outputs = {{"y", y, WithBatch(fft.batch, fft.OutputAxes())}};
    // The customary count, whatever the algorithm: 5 N log2 N, half of it with a real side.
    const auto points = static_cast<double>(fft.Points());
    problem->flops =
        (fft.kind == FftKind::kC2C ? 5 : 2.5) * points * std::log2(points) * static_cast<double>(fft.batch);
    problem->bytes = CompulsoryBytes(*problem);
    return problem;
  }

  std::vector<Tensor> MakeInputs(const Problem& problem) const override {
    const FftArgs fft = FftArgsOf(problem);
    std::vector<Tensor> inputs;
    inputs.push_back(FillInput(problem, 0, -1, 0));
    if (fft.kind == FftKind::kC2R) {
      std::vector<double> values = inputs[0].ToDoubles();
      MakeHermitian(fft, values);
      inputs[0].SetDoubles(values);
    }
    return inputs;
  }

  Golden ComputeGolden(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                       Tier tier) const override {
    const FloatFormat& format = FormatOf(problem.outputs[0].dtype);
    const bool wide = problem.outputs[0].dtype == DType::kC128 || problem.outputs[0].dtype == DType::kF64;
    Golden golden = GoldenFft(FftArgsOf(problem), inputs[0], tier, wide, format.MinNormal());
    golden.shape = problem.outputs[0].shape;
    return golden;
  }

  BoundModel Bound(const Problem& problem, size_t /*output*/, const Golden& golden,
                   const Contract& contract) const override {
    return FftBound(FftArgsOf(problem), golden, contract, problem.outputs[0].dtype);
  }

  OperatorTraits traits() const override {
    return {.algorithms = {Algorithm::kDirect, Algorithm::kFft, Algorithm::kBluestein}, .default_fields = "alg=fft"};
  }
  // The count of a problem is that of radix 2 and says nothing of the fewest operations.
  ProblemTraits TraitsOf(const Problem&, size_t /*output*/) const override { return {}; }

  std::optional<Twin> MakeTwin(const Problem& problem, size_t /*output*/, const Contract& contract,
                               int variant) const override {
    return FftTwin(*this, problem, contract, variant);
  }
  int TwinVariants(const Problem& problem, size_t /*output*/, const Contract& contract) const override {
    return FftTwinVariants(problem, contract);
  }

  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override {
    return FftOmittedTerms(problem, inputs[0], values, elements);
  }

  std::vector<SliceAxes> Slices(const Problem& problem, size_t /*output*/) const override { return FftSlices(problem); }
  std::vector<int> ScaledInputs(const Problem&) const override { return {0}; }
  std::vector<Relation> Relations(const Problem& problem, size_t /*output*/) const override {
    return FftRelations(*this, problem);
  }

  CaseSpace Space() const override { return FftSpace(); }
};

const RegisterOperator<Fft> registered_fft;

}  // namespace
}  // namespace assay
