// SPDX-License-Identifier: Apache-2.0
// Functions of elements, of one operand or of two, of which the second may be one number for a row, a column or the
// whole. shaders/points.comp numbers them as this table does.
#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

struct Point {
  std::string_view op;
  double ulp;  // of its division, root and functions
  const char *a = nullptr, *b = nullptr;
};

constexpr Point kPoints[] = {
    {"abs", 0},
    {"add", 0},
    {"ceil", 0},
    {"celu", kDivisionUlp, "alpha"},
    {"clip", 0, "low", "high"},
    {"div", kDivisionUlp},
    {"elu", kOwnFunctionUlp, "alpha"},
    {"exp", kOwnFunctionUlp},
    {"floor", 0},
    {"gelu", kOwnTanhUlp},
    {"hardsigmoid", kDivisionUlp},
    {"hardswish", kDivisionUlp},
    {"leaky_relu", 0, "alpha"},
    {"maximum", 0},
    {"minimum", 0},
    {"mish", kDivisionUlp},
    {"mul", 0},
    {"neg", 0},
    {"prelu", 0},
    {"quick_gelu", kDivisionUlp},
    {"reciprocal", kDivisionUlp},
    {"relu", 0},
    {"relu6", 0},
    {"round", 0},
    {"selu", kOwnFunctionUlp},
    {"sigmoid", kDivisionUlp},
    {"silu", kDivisionUlp},
    {"softcap", kOwnTanhUlp, "cap"},
    {"softsign", kDivisionUlp},
    {"sqrt", kSquareRootUlp},
    {"square", 0},
    {"sub", 0},
    {"tanh", kOwnTanhUlp},
    {"trunc", 0},
    {"log", kOwnFunctionUlp},
    {"sin", kOwnTurnUlp},
    {"cos", kOwnTurnUlp},
    {"erf", kOwnErfUlp},
    {"rsqrt", kSquareRootUlp},
    {"sign", 0},
    {"softplus", kOwnTanhUlp},
    {"logsigmoid", kOwnTanhUlp},
    {"silu_and_mul", kDivisionUlp},
    {"gelu_and_mul", kOwnTanhUlp},
    // gelu and its gate with approx=none stand last.
    {"", kOwnErfUlp},
    {"", kOwnErfUlp},
};

const Point& PointOf(const plugin::OpDesc& op) {
  if (op.name().starts_with("gelu") && op.AttrString("approx") != "tanh") {
    return *(std::end(kPoints) - (op.name() == "gelu" ? 2 : 1));
  }
  return *std::ranges::find(kPoints, op.name(), &Point::op);
}

struct PointParams {
  uint32_t count, n, x_row, x_step, y_row, y_step, z_row, z_step;
  uint64_t a, b;
  uint32_t y_at;  // of a gate, whose operands are the halves of each row
};

std::pair<uint32_t, uint32_t> StepsOf(const plugin::OpDesc& op, const plugin::Tensor& tensor) {
  const plugin::RowSteps steps = op.StepsOf(tensor);
  return {static_cast<uint32_t>(steps.row), static_cast<uint32_t>(steps.element)};
}

bool IsGate(const plugin::OpDesc& op) {
  return op.name().ends_with("_and_mul");
}

uint64_t BitsOf(const plugin::OpDesc& op, const char* attribute) {
  if (attribute == nullptr) return 0;
  const double value = op.AttrFloat(attribute);
  if (VariantFor(op) == Variant::kF64) return std::bit_cast<uint64_t>(value);
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

Recipe PointRecipe(const Facts&, const plugin::OpDesc& op) {
  const Point& point = PointOf(op);
  const plugin::Tensor &x = op.inputs()[0], &y = op.inputs().back(), &z = op.outputs()[0];
  PointParams p{};
  p.count = static_cast<uint32_t>(z.Elements()), p.n = static_cast<uint32_t>(z.shape.back());
  std::tie(p.x_row, p.x_step) = StepsOf(op, x);
  std::tie(p.y_row, p.y_step) = StepsOf(op, y);
  std::tie(p.z_row, p.z_step) = StepsOf(op, z);
  if (IsGate(op)) p.y_at = p.n * p.x_step, p.y_row = p.x_row, p.y_step = p.x_step;
  p.a = BitsOf(op, point.a), p.b = BitsOf(op, point.b);
  const auto number = static_cast<uint32_t>(&point - kPoints);
  KernelSpec kernel{"points", VariantFor(op), Constants(kElementLanes, {x.dtype, y.dtype, z.dtype}, {number})};
  constexpr uint64_t kMostTerms = 64;  // of a series
  return {{{std::move(kernel),
            BytesOf(p),
            {In(0), In(static_cast<int>(op.inputs().size()) - 1), Out()},
            CeilDiv(z.Elements(), kElementLanes),
            Turns(kMostTerms)}},
          {}};
}

std::string PointWhyNot(const Facts&, const plugin::OpDesc& op) {
  const Point& point = PointOf(op);
  op.MayIgnore({"n", "rows", "per"});
  for (const char* attribute : {point.a, point.b}) {
    if (attribute != nullptr) op.AttrFloat(attribute);
  }
  const bool turns = op.name() == "sin" || op.name() == "cos";
  if (turns && VariantFor(op) == Variant::kF64) return "sin and cos are reduced in f32 alone here";
  const int64_t elements = op.outputs()[0].Elements();
  if (elements == 0 || elements > UINT32_MAX) return fmt::format("{} elements", elements);
  return FloatTypesWhyNot(op);
}

std::string PointContract(const Facts& facts, const plugin::OpDesc& op) {
  return Declare(facts, op, {PointOf(op).ulp, ""});
}

std::vector<Row> MakePointRows() {
  std::vector<Row> rows;
  for (const Point& point : kPoints) {
    if (point.op.empty()) continue;
    rows.push_back({{point.op.data(), plugin::kRealTypes, "element"}, PointContract, PointWhyNot, PointRecipe});
  }
  return rows;
}

}  // namespace

std::span<const Row> PointRows() {
  static const std::vector<Row> rows = MakePointRows();
  return rows;
}

}  // namespace vulkan
