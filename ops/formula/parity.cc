// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/degree.h"

namespace assay::formula {
namespace {

Parity OfMap(Function function, const std::vector<Parity>& x) {
  bool all_even = true;
  for (const Parity parity : x) {
    if (parity == Parity::kNone) return Parity::kNone;
    all_even = all_even && parity == Parity::kEven;
  }
  if (all_even) return Parity::kEven;
  switch (function) {
    case Function::kAdd:
    case Function::kSub:
      return x[0] == x[1] ? x[0] : Parity::kNone;
    case Function::kMul:
    case Function::kDiv:
      return x[0] == x[1] ? Parity::kEven : Parity::kOdd;
    case Function::kNegate:
    case Function::kTanh:
    case Function::kErf:
    case Function::kSin:
    case Function::kTan:
    case Function::kAsin:
    case Function::kAtan:
    case Function::kSinh:
    case Function::kAsinh:
    case Function::kAtanh:
    case Function::kCbrt:
      return x[0];
    case Function::kAbs:
    case Function::kCosh:
    case Function::kCos:
      return Parity::kEven;
    case Function::kSelect:
      return x[0] == Parity::kEven && x[1] == x[2] ? x[1] : Parity::kNone;
    default:
      return Parity::kNone;
  }
}

}  // namespace

Parity ParityOf(const Graph& graph, int last, const std::vector<bool>& negated) {
  std::vector<Parity> parities;
  for (int i = 0; i <= last; ++i) {
    const Node& node = graph.At(i);
    std::vector<Parity> args;
    for (const int arg : node.args) args.push_back(parities[static_cast<size_t>(arg)]);
    Parity parity = Parity::kEven;
    if (node.kind == Kind::kIn) parity = negated[static_cast<size_t>(node.input)] ? Parity::kOdd : Parity::kEven;
    if (node.kind == Kind::kMap) parity = OfMap(node.function, args);
    if (node.kind == Kind::kSum || node.kind == Kind::kAt || node.kind == Kind::kRound) parity = args[0];
    const bool selects =
        node.kind == Kind::kProd || node.kind == Kind::kMax || node.kind == Kind::kMin || node.kind == Kind::kTopK;
    if (selects) parity = args[0] == Parity::kEven ? Parity::kEven : Parity::kNone;
    if (node.kind == Kind::kGather) parity = args[1] == Parity::kEven ? args[0] : Parity::kNone;
    if (node.kind == Kind::kScatterAdd) {
      parity = args[0] == args[1] && args[2] == Parity::kEven ? args[0] : Parity::kNone;
    }
    if (node.kind == Kind::kRecur) {
      parity = args.size() == 1 || args[0] == Parity::kEven ? args.back() : Parity::kNone;
    }
    parities.push_back(parity);
  }
  return parities.back();
}

}  // namespace assay::formula
