// SPDX-License-Identifier: Apache-2.0
// The operator conv: x[n,c,spatial], w[o,c/groups,kernel], bias[o] -> y[n,o,spatial]. Padding is zeros, the same at
// both ends of an axis. Golden value, Winograd planes and exact twins in conv_golden.cc, conv_winograd.cc,
// conv_exact.cc.
#include "ops/conv/conv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "ops/binding.h"
#include "ops/case_space.h"
#include "ops/exact_code.h"
#include "ops/relation.h"
#include "ops/relations.h"

namespace assay {
namespace {

// Limit of every spatial attribute, so that spans and outputs can be computed in 64 bits. Frameworks index axes by i32,
// too.
constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();
constexpr const char* kConvTypes = "possible are f64, f32, f16, bf16, f16-f16-f32, bf16-bf16-f32 and i8-i8-i32";
constexpr const char* kSpatial[] = {"k", "stride", "pad", "dilation"};

// The floor of a / b for b > 0.
int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Elements one tap can reach along an axis: the kernel with its gaps.
int64_t Span(int64_t kernel, int64_t dilation) {
  return dilation * (kernel - 1) + 1;
}

OpSchema ConvSchema() {
  return {
      .op = "conv",
      .doc = "y = x (cross-correlated with) w + bias, in one to three dimensions",
      .attrs = {{"n", AttrType::kInt, "", "images"},
                {"c", AttrType::kInt, "", "channels of x"},
                {"o", AttrType::kInt, "", "channels of y"},
                {"i", AttrType::kDims, "", "spatial extents of x, one to three"},
                {"k", AttrType::kDims, "", "extents of the kernel; one number stands for all axes, as below", {}, "i"},
                {"stride", AttrType::kDims, "1", "steps between outputs", {}, "i"},
                {"pad", AttrType::kDims, "0", "zeros at either end", {}, "i"},
                {"dilation", AttrType::kDims, "1", "steps between taps", {}, "i"},
                {"groups", AttrType::kInt, "1", "independent convolutions side by side; c: depthwise"},
                {"bias", AttrType::kInt, "0", "1: bias[o] is added, an input", {"0", "1"}}},
      .operands = {"x", "w", "y"},
      .outputs = {"y"},
      .layouts = {{"x", "[n,c,i...]"},
                  {"w", "[o,c/groups,k...]"},
                  {"bias", "[o]", "only with bias=1"},
                  {"y", "[n,o,spatial...]"}}};
}

// The error's text, empty when the types fit.
std::string CheckConvTypes(DType x, DType w, DType y) {
  if (x != w) return fmt::format("x is {} and w is {}, but both must have one type; {}", Name(x), Name(w), kConvTypes);
  const bool same = y == x && (x == DType::kF64 || x == DType::kF32 || x == DType::kF16 || x == DType::kBF16);
  const bool widened = y == DType::kF32 && (x == DType::kF16 || x == DType::kBF16);
  if (same || widened || (x == DType::kI8 && y == DType::kI32)) return {};
  return fmt::format("no convolution of {} with output {}; {}", Name(x), Name(y), kConvTypes);
}

// Gives every spatial attribute one number per axis of i.
std::string ExpandLists(Problem& problem) {
  const size_t rank = problem.List("i").size();
  if (rank < 1 || rank > ConvArgs::kAxes) {
    return fmt::format("i={} has {} axes; 1 to 3 are possible, such as i=56x56", fmt::join(problem.List("i"), "x"),
                       rank);
  }
  for (ResolvedAttr& attr : problem.attrs) {
    if (std::ranges::find(kSpatial, attr.key) == std::end(kSpatial)) continue;
    if (attr.list.size() == 1) attr.list.resize(rank, attr.list[0]);
    if (attr.list.size() == rank) continue;
    return fmt::format("{}={} has {} axes, but i={} has {}; give one number or {}", attr.key, fmt::join(attr.list, "x"),
                       attr.list.size(), fmt::join(problem.List("i"), "x"), rank, rank);
  }
  return {};
}

std::string CheckSpatial(const Problem& problem) {
  for (size_t axis = 0; axis < problem.List("i").size(); ++axis) {
    for (const char* key : {"i", "k"}) {
      if (problem.List(key)[axis] > 0) continue;
      return fmt::format("{}=0 of axis {} must be at least 1: along nothing there is nothing to convolve", key, axis);
    }
    for (const char* key : {"stride", "dilation"}) {
      if (problem.List(key)[axis] < 1) return fmt::format("{}=0 of axis {} must be at least 1", key, axis);
    }
    for (const char* key : {"i", "k", "stride", "pad", "dilation"}) {
      if (problem.List(key)[axis] <= kMaxExtent) continue;
      return fmt::format("{}={} of axis {} is above 2^31 - 1", key, problem.List(key)[axis], axis);
    }
    const int64_t k = problem.List("k")[axis], span = Span(k, problem.List("dilation")[axis]);
    const int64_t in = problem.List("i")[axis], pad = problem.List("pad")[axis];
    if (in + 2 * pad < span) {
      return fmt::format(
          "k={} of axis {} spans {} elements, but i={} with pad={} has {}; i must be at least {}; x is [n,c,i...], w "
          "[o,c/groups,k...]",
          k, axis, span, in, pad, in + 2 * pad, span - 2 * pad);
    }
  }
  return {};
}

std::string CheckChannels(const Problem& problem, bool integers) {
  for (const char* key : {"n", "c", "o"}) {
    if (problem.Int(key) < 0) return fmt::format("{}={} must not be negative", key, problem.Int(key));
  }
  if (problem.Int("groups") < 1) return fmt::format("groups={} must be at least 1", problem.Int("groups"));
  const int64_t groups = problem.Int("groups"), bias = problem.Int("bias");
  for (const char* key : {"c", "o"}) {
    if (problem.Int(key) % groups == 0) continue;
    return fmt::format("{}={} must be a multiple of groups={}: w has shape [o, c/groups, kernel]", key,
                       problem.Int(key), groups);
  }
  if (bias != 0 && bias != 1) return fmt::format("bias={} must be 0 or 1", bias);
  if (!integers) return {};
  if (bias != 0) return "bias=1 must be 0 for integers";
  const auto& k = problem.List("k");
  // In floating point: an absurd product must not overflow.
  const double terms =
      std::accumulate(k.begin(), k.end(), static_cast<double>(problem.Int("c") / groups), std::multiplies<>());
  if (terms <= kMostI8Products) return {};
  return fmt::format("{:.0f} terms c/groups * k can overflow i32; at most {} for i8", terms, kMostI8Products);
}

Shape WithSpatial(int64_t outer, int64_t inner, const ConvArgs& op, const ConvArgs::Extents& extents) {
  Shape shape{outer, inner};
  shape.insert(shape.end(), extents.end() - op.rank, extents.end());
  return shape;
}

class Conv final : public Operator {
 public:
  const OpSchema& schema() const override {
    static const OpSchema schema = ConvSchema();
    return schema;
  }

  Result<AttrList> InferAttrs(const std::vector<Operand>& inputs, AttrList given) const override {
    const Shape &x = FindOperand(inputs, "x")->shape, &w = FindOperand(inputs, "w")->shape;
    if (x.size() < 3 || x.size() > 2 + ConvArgs::kAxes || w.size() != x.size()) {
      return UsageError(
          fmt::format("conv: x has shape {} and w {}, but they need to be [n,c,i...] and [o,c/groups,k...] "
                      "with one to three spatial axes",
                      ShapeText(x), ShapeText(w)));
    }
    SetIfAbsent(given, "n", std::to_string(x[0]));
    SetIfAbsent(given, "c", std::to_string(x[1]));
    SetIfAbsent(given, "o", std::to_string(w[0]));
    SetIfAbsent(given, "i", ShapeText(Shape(x.begin() + 2, x.end())));
    SetIfAbsent(given, "k", ShapeText(Shape(w.begin() + 2, w.end())));
    // Fewer channels in the kernel than in x mean groups.
    if (w[1] > 0 && x[1] > 0 && x[1] % w[1] == 0) SetIfAbsent(given, "groups", std::to_string(x[1] / w[1]));
    if (FindOperand(inputs, "bias") != nullptr) SetIfAbsent(given, "bias", "1");
    return given;
  }

  Result<Problem> Bind(const CaseSpec& spec) const override {
    Result<Problem> problem = StartProblem(spec, schema());
    if (!problem) return problem;
    const std::vector<DType>& types = problem->spec.dtypes;
    const DType x = types.front(), w = types.size() == 1 ? x : types[1], y = types.back();
    for (const auto& check : {std::function<std::string()>([&] { return CheckConvTypes(x, w, y); }),
                              std::function<std::string()>([&] { return ExpandLists(*problem); }),
                              std::function<std::string()>([&] { return CheckSpatial(*problem); }),
                              std::function<std::string()>([&] { return CheckChannels(*problem, IsInt(x)); })}) {
      if (const std::string text = check(); !text.empty()) return BindError(*problem, text);
    }
    const ConvArgs op(*problem);
    problem->inputs = {{"x", x, WithSpatial(op.n, op.c, op, op.in)},
                       {"w", w, WithSpatial(op.o, op.GroupInputs(), op, op.kernel)}};
    if (op.bias) problem->inputs.push_back({"bias", y, {op.o}});
    problem->outputs = {{"y", y, WithSpatial(op.n, op.o, op, op.out)}};
    if (const std::string text = SizeProblem(*problem); !text.empty()) return BindError(*problem, text);
    // The usual count of the direct algorithm: padded taps count like others.
    problem->flops = 2.0 * static_cast<double>(op.n) * static_cast<double>(op.o) * static_cast<double>(op.Positions()) *
                     static_cast<double>(op.Terms());
    problem->bytes = CompulsoryBytes(*problem);
    return problem;
  }

  OperatorTraits traits() const override {
    return {.algorithms = {Algorithm::kDirect, Algorithm::kWinograd, Algorithm::kFft}};
  }

  ProblemTraits TraitsOf(const Problem& problem, size_t /*output*/) const override {
    const ConvArgs op(problem);
    return {.fewest_flops = problem.flops * op.ShareOfTapsSeen(),
            .largest_integer_sum = LargestSumOfIntegers(problem.inputs[0].dtype, op.Terms(), 2),
            .required_fields = "mid=none",  // neither sums nor transforms need to be rounded to 16 bits
            .factors = 2,
            .sum = SumForm{.factors = 2, .bias = op.bias},
            .peer = {.kind = PeerForm::Kind::kConvolution, .terms = op.Terms(), .bias = op.bias}};
  }

  // Patterns follow the channels, the one axis that every output sums over whole (per group).
  std::vector<Tensor> MakeInputs(const Problem& problem) const override {
    const auto terms = static_cast<double>(ConvArgs(problem).Terms());
    std::vector<Tensor> inputs;
    inputs.push_back(FillInput(problem, 0, 1, 0, terms));
    inputs.push_back(FillInput(problem, 1, 1, 1, terms));
    if (problem.inputs.size() > 2) inputs.push_back(FillInput(problem, 2, -1, 2, terms));
    return inputs;
  }

  std::optional<NeutralTerms> WithNeutralTerms(const Problem& problem) const override {
    return NeutralTerms{Rebind(*this, problem, {{"c", std::to_string(problem.Int("groups"))}})};
  }

  Golden ComputeGolden(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                       Tier tier) const override {
    const ConvArgs op(problem);
    Golden golden = ConvGolden(op, problem, inputs, tier);
    if (golden.exact) return golden;
    if (op.IsWinograd()) AddWinogradPlanes(op, inputs, golden);
    AddFftPlanes(op, inputs, golden);
    return golden;
  }

  std::string WhyUnbounded(const Contract& contract) const override {
    const bool has_points = contract.winograd_r == 3 && (contract.winograd_m == 2 || contract.winograd_m == 4);
    if (contract.alg != Algorithm::kWinograd || has_points) return "";
    return "the transforms that it knows are winograd<2,3> and winograd<4,3>";
  }

  BoundModel Bound(const Problem& problem, size_t /*output*/, const Golden& golden,
                   const Contract& contract) const override {
    return ConvBound(ConvArgs(problem), golden, contract, problem.inputs[0].dtype, problem.outputs[0].dtype);
  }

  std::optional<Twin> MakeTwin(const Problem& problem, size_t /*output*/, const Contract& contract,
                               int variant) const override {
    return ConvTwin(problem, contract, variant);
  }
  int TwinVariants(const Problem& problem, size_t /*output*/, const Contract& contract) const override {
    return ConvTwinVariants(problem, contract);
  }

  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override {
    return ConvOmittedTerms(problem, inputs, values, elements);
  }

  std::unique_ptr<SumProducts> Products(const Problem& problem, size_t /*output*/,
                                        std::span<const Tensor> inputs) const override {
    return ConvProducts(problem, inputs);
  }

  std::vector<std::vector<double>> SummedTerms(const Problem& problem, size_t /*output*/,
                                               std::span<const Tensor> inputs, const Contract& /*contract*/,
                                               int64_t element) const override {
    std::vector<double> terms;
    for (const ConvTerm& term : VisibleTerms(ConvArgs(problem), element)) {
      terms.push_back(ValueAt(inputs[0], term.x) * ValueAt(inputs[1], term.w));
    }
    return {std::move(terms)};
  }

  std::vector<SliceAxes> Slices(const Problem& problem, size_t /*output*/) const override {
    return ConvSlices(problem);
  }
  std::vector<int> ScaledInputs(const Problem& problem) const override { return ConvScaledInputs(problem); }
  std::vector<Relation> Relations(const Problem& problem, size_t /*output*/) const override {
    return ConvRelations(*this, problem);
  }

  CaseSpace Space() const override { return ConvSpace(); }
};

const RegisterOperator<Conv> registered_conv;

}  // namespace

ConvArgs::ConvArgs(const Problem& problem)
    : n(problem.Int("n")),
      c(problem.Int("c")),
      o(problem.Int("o")),
      groups(problem.Int("groups")),
      bias(problem.Int("bias") != 0),
      rank(static_cast<int>(problem.List("i").size())) {
  const auto read = [&](const char* key, int64_t absent) {
    Extents extents;
    extents.fill(absent);
    std::ranges::copy_backward(problem.List(key), extents.end());
    return extents;
  };
  in = read("i", 1), kernel = read("k", 1), stride = read("stride", 1);
  pad = read("pad", 0), dilation = read("dilation", 1);
  for (int a = 0; a < kAxes; ++a) out[a] = (in[a] + 2 * pad[a] - Span(kernel[a], dilation[a])) / stride[a] + 1;
}

ConvArgs::Extents ConvArgs::Split(int64_t index, const Extents& extents) {
  return {index / extents[2] / extents[1], index / extents[2] % extents[1], index % extents[2]};
}

bool ConvArgs::SeesPaddingAlone(int64_t position) const {
  const Extents p = Split(position, out);
  for (int axis = 0; axis < kAxes; ++axis) {
    bool sees = false;
    for (int64_t t = 0; t < kernel[axis] && !sees; ++t) sees = Sees(axis, p[axis], t);
    if (!sees) return true;
  }
  return false;
}

ConvArgs::Range ConvArgs::Seeing(int axis, int64_t t) const {
  const int64_t shift = t * dilation[axis] - pad[axis];
  const int64_t begin = std::max<int64_t>(0, -FloorDivide(shift, stride[axis]));
  const int64_t end = std::min(out[axis], FloorDivide(in[axis] - 1 - shift, stride[axis]) + 1);
  return {std::min(begin, out[axis]), std::max(std::min(begin, out[axis]), end)};
}

double ConvArgs::ShareOfTapsSeen() const {
  double share = 1;
  for (int axis = 0; axis < kAxes; ++axis) {
    int64_t seen = 0;
    for (int64_t t = 0; t < kernel[axis]; ++t) seen += Seeing(axis, t).end - Seeing(axis, t).begin;
    share *= static_cast<double>(seen) / static_cast<double>(out[axis] * kernel[axis]);
  }
  return share;
}

bool ConvArgs::IsWinograd() const {
  return rank == 2 && kernel == Extents{1, 3, 3} && stride == Extents{1, 1, 1} && dilation == Extents{1, 1, 1};
}

std::vector<ConvTerm> VisibleTerms(const ConvArgs& op, int64_t output) {
  const int64_t channel = op.ChannelOf(output), image = output / op.Positions() / op.o;
  const ConvArgs::Extents p = op.PositionOf(output);
  std::vector<ConvTerm> taps;
  for (int64_t tap = 0; tap < op.Taps(); ++tap) {
    const ConvArgs::Extents t = ConvArgs::Split(tap, op.kernel);
    if (!op.Sees(0, p[0], t[0]) || !op.Sees(1, p[1], t[1]) || !op.Sees(2, p[2], t[2])) continue;
    const int64_t row = op.Source(0, p[0], t[0]) * op.in[1] + op.Source(1, p[1], t[1]);
    taps.push_back({row * op.in[2] + op.Source(2, p[2], t[2]), tap});
  }
  const int64_t inputs = op.GroupInputs(), first = image * op.c + channel / op.GroupOutputs() * inputs;
  std::vector<ConvTerm> terms;
  terms.reserve(taps.size() * static_cast<size_t>(inputs));
  for (int64_t c = 0; c < inputs; ++c) {
    for (const ConvTerm& tap : taps) {
      terms.push_back({(first + c) * op.Pixels() + tap.x, (channel * inputs + c) * op.Taps() + tap.w});
    }
  }
  return terms;
}

}  // namespace assay
