// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/change_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/formula/change_factors.h"
#include "ops/formula/change_gates.h"
#include "ops/formula/change_library.h"
#include "ops/formula/change_scans.h"
#include "ops/formula/change_terms.h"

namespace assay::formula {
namespace {

template <size_t kOperand, size_t kOf>
ChangedExpr TakeOperand(const ChangedPlace& p) {
  return p.IsFunctionOf(kOf) ? ChangedExpr(p.Arg(kOperand)) : std::nullopt;
}

ChangedExpr ExchangeOperands(const ChangedPlace& p) {
  const bool symmetric = p.Is(Function::kAdd) || p.Is(Function::kMul) || p.Is(Function::kMaximum) ||
                         p.Is(Function::kMinimum) || p.Is(Function::kEqual) || p.Is(Function::kAnd) ||
                         p.Is(Function::kOr);
  if (!p.IsFunctionOf(2) || symmetric) return std::nullopt;
  return MapTo(p.node.function, {p.Arg(1), p.Arg(0)});
}

ChangedExpr ExchangeBranches(const ChangedPlace& p) {
  if (!p.Is(Function::kSelect)) return std::nullopt;
  return MapTo(Function::kSelect, {p.Arg(0), p.Arg(2), p.Arg(1)});
}

template <Function kFrom, Function kTo>
ChangedExpr Replace(const ChangedPlace& p) {
  if (!p.Is(kFrom)) return std::nullopt;
  std::vector<Expr> operands;
  for (size_t i = 0; i < p.node.args.size(); ++i) operands.push_back(p.Arg(i));
  return MapTo(kTo, operands);
}

ChangedExpr NegateResult(const ChangedPlace& p) {
  return p.Is(Function::kMul) || p.node.kind == Kind::kSum ? ChangedExpr(-p.self) : std::nullopt;
}

// A kernel may add an epsilon to the root instead of what is under it.
ChangedExpr MoveAddendOutOfRoot(const ChangedPlace& p) {
  if (!p.Is(Function::kSqrt) && !p.Is(Function::kRsqrt)) return std::nullopt;
  const Node& sum = p.Arg(0).node();
  if (!Maps(sum, Function::kAdd)) return std::nullopt;
  const Expr left{&p.graph, sum.args[0]}, right{&p.graph, sum.args[1]};
  if (right.node().kind != Kind::kConst) return std::nullopt;
  const Expr moved = Sqrt(left) + right;
  return p.Is(Function::kSqrt) ? moved : 1.0 / moved;
}

template <auto kNumber>
ChangedExpr ReplaceConstant(const ChangedPlace& p) {
  if (p.node.kind != Kind::kConst) return std::nullopt;
  const double value = kNumber(p.node.constant);
  if (!std::isfinite(value) || value == p.node.constant) return std::nullopt;
  return Const(p.graph, value);
}

double OneLess(double x) {
  return x == std::trunc(x) && std::fabs(x) > 1 ? x - 1 : x;
}
double OneMore(double x) {
  return x == std::trunc(x) && std::fabs(x) > 1 ? x + 1 : x;
}
double ToNothing(double) {
  return 0;
}
double Negative(double x) {
  return -x;
}
double Twice(double x) {
  return 2 * x;
}
double Half(double x) {
  return x / 2;
}
double Square(double x) {
  return x * x;
}
double Root(double x) {
  return std::sqrt(std::fabs(x));
}
double Inverse(double x) {
  return 1 / x;
}
template <int kPower>
double Decades(double x) {
  return std::fabs(x) < 0.01 ? x * std::pow(10.0, kPower) : x;  // an epsilon
}

// A count of elements, padded.
template <int kBlock>
double WholeBlocks(double x) {
  return x == std::trunc(x) && x > kBlock ? std::ceil(x / kBlock) * kBlock : x;
}

ChangedExpr ReplaceSumByMean(const ChangedPlace& p) {
  if (p.node.kind != Kind::kSum) return std::nullopt;
  return p.self / static_cast<double>(p.graph.ExtentOf(p.node.reduced));
}

template <Kind kFrom, Kind kTo>
ChangedExpr ReplaceReduction(const ChangedPlace& p) {
  if (p.node.kind != kFrom) return std::nullopt;
  Node node = p.node;
  node.kind = kTo;
  node.non_negative = p.Arg(0).node().non_negative;
  node.least = 0;
  return Append(p.graph, std::move(node));
}

constexpr double kLogOf2 = 0x1.62e42fefa39efp-1;

// The exponential and the logarithm in base 2, without the factor that makes them those in base e, or with a factor of
// five digits.
ChangedExpr TakeExponentialOfTwo(const ChangedPlace& p) {
  return p.Is(Function::kExp) ? ChangedExpr(Exp(p.Arg(0) * kLogOf2)) : std::nullopt;
}
ChangedExpr TakeLogarithmOfTwo(const ChangedPlace& p) {
  return p.Is(Function::kLog) ? ChangedExpr(p.self / kLogOf2) : std::nullopt;
}
ChangedExpr TakeShortLogarithmOfE(const ChangedPlace& p) {
  return p.Is(Function::kExp) ? ChangedExpr(Exp(p.Arg(0) * (1.4427 * kLogOf2))) : std::nullopt;
}

ChangedExpr ReduceMagnitudes(const ChangedPlace& p) {
  if (!IsReduction(p.node.kind) || p.Arg(0).node().non_negative) return std::nullopt;
  Node node = p.node;
  node.args[0] = Abs(p.Arg(0)).id;
  return Append(p.graph, std::move(node));
}

// Its accumulator starts at 0 instead of at the least number.
ChangedExpr StartAtZero(const ChangedPlace& p) {
  if (p.node.kind != Kind::kMax && p.node.kind != Kind::kMin) return std::nullopt;
  const Function function = p.node.kind == Kind::kMax ? Function::kMaximum : Function::kMinimum;
  return MapTo(function, {p.self, Const(p.graph, 0)});
}

template <int kBy>
ChangedExpr MoveElements(const ChangedPlace& p) {
  if (p.node.kind != Kind::kAt || !p.node.more_from.empty()) return std::nullopt;
  const int64_t extent = p.graph.Extent(p.node.from_axis);
  Node node = p.node;
  for (int64_t& place : node.index) place = place < 0 ? place : (place + kBy + extent) % extent;
  return Append(p.graph, std::move(node));
}

// Elements of blocks, as query heads that share a key head, are taken in turn.
ChangedExpr ReadInTurn(const ChangedPlace& p) {
  if (p.node.kind != Kind::kAt || !p.node.more_from.empty()) return std::nullopt;
  const int64_t extent = p.graph.Extent(p.node.from_axis), places = std::ssize(p.node.index);
  if (extent < 2 || places <= extent || places % extent != 0) return std::nullopt;
  Node node = p.node;
  for (int64_t i = 0; i < places; ++i) {
    if (node.index[static_cast<size_t>(i)] != i / (places / extent)) return std::nullopt;
    node.index[static_cast<size_t>(i)] = i % extent;
  }
  return Append(p.graph, std::move(node));
}

// One over what stands under a root.
ChangedExpr LeaveOutRoot(const ChangedPlace& p) {
  return p.Is(Function::kRsqrt) ? ChangedExpr(1.0 / p.Arg(0)) : std::nullopt;
}

template <bool kFurther>
ChangedExpr MoveIndex(const ChangedPlace& p) {
  if (p.node.kind != Kind::kIndex) return std::nullopt;
  return kFurther ? p.self + 1.0 : p.self - 1.0;
}

constexpr std::string_view kAnewAt = "{1} that begins anew at step {2} alone";

constexpr ChangeRule kRules[] = {
    {ReadInTurn, "{1}, and what is read alike, in turn, not in blocks", nullptr, true},
    {CountAll, "all {0} in place of {1}"},
    {TakeOperand<0, 2>},
    {TakeOperand<1, 2>},
    {TakeOperand<0, 1>},
    {LeaveOutRoot},
    {TakeExponentialOfTwo, "exp in base 2 in place of {1}"},
    {TakeLogarithmOfTwo, "log in base 2 in place of {1}"},
    {TakeShortLogarithmOfE, "{1} by a log2(e) of 1.4427"},
    {TakeOperand<1, 3>},
    {TakeOperand<2, 3>},
    {Replace<Function::kAdd, Function::kSub>},
    {Replace<Function::kSub, Function::kAdd>},
    {Replace<Function::kMul, Function::kAdd>},
    {Replace<Function::kMul, Function::kDiv>},
    {Replace<Function::kDiv, Function::kMul>},
    {ExchangeOperands},
    {ExchangeBranches},
    {Replace<Function::kLess, Function::kLessEqual>},
    {Replace<Function::kLessEqual, Function::kLess>},
    {MoveIndex<true>},
    {MoveIndex<false>},
    {MoveAddendOutOfRoot},
    {MoveAddendIntoFactor},
    {TakeFactorOfOneAddend<0>},
    {TakeFactorOfOneAddend<1>},
    {ScaleAddend<0>},
    {ScaleAddend<1>},
    {AddToWeight<1>},
    {AddToWeight<-1>},
    {TakeWeightTwice},
    {ReplaceConstant<OneLess>},
    {ReplaceConstant<OneMore>},
    {ReplaceConstant<ToNothing>},
    {ReplaceConstant<Negative>},
    {ReplaceConstant<Twice>},
    {ReplaceConstant<Half>},
    {ReplaceConstant<Square>},
    {ReplaceConstant<Root>},
    {ReplaceConstant<Inverse>},
    {ReplaceConstant<Decades<1>>},
    {ReplaceConstant<Decades<-1>>},
    {ReplaceConstant<Decades<2>>},
    {ReplaceConstant<Decades<-2>>},
    {ReplaceConstant<Decades<3>>},
    {ReplaceConstant<Decades<-3>>},
    {ReplaceSumByMean},
    {ChangeTerms<LastTerm, false>, "{1} without its last term"},
    {ChangeTerms<FirstTerm, false>, "{1} without its first term"},
    {ChangeTerms<MiddleTerm, false>, "{1} without its middle term"},
    {ChangeTerms<LastTerm, true>, "{1} with its last term twice"},
    {ChangeTerms<FirstTerm, true>, "{1} with its first term twice"},
    {ChangeTerms<MiddleTerm, true>, "{1} with its middle term twice"},
    {ChangeTerms<LastBlock<4>, false>, "{1} without its last {2} terms", LastBlock<4>},
    {ChangeTerms<LastBlock<8>, false>, "{1} without its last {2} terms", LastBlock<8>},
    {ChangeTerms<LastBlock<16>, false>, "{1} without its last {2} terms", LastBlock<16>},
    {ChangeTerms<LastBlock<32>, false>, "{1} without its last {2} terms", LastBlock<32>},
    {ChangeTerms<LastBlock<64>, false>, "{1} without its last {2} terms", LastBlock<64>},
    {ChangeTerms<LastBlock<128>, false>, "{1} without its last {2} terms", LastBlock<128>},
    {ChangeTerms<SecondHalf, false>, "{1} without its last {2} terms", SecondHalf},
    {ChangeTerms<FirstBlock<8>, false>, "{1} without its first {2} terms", FirstBlock<8>},
    {ChangeTerms<FirstBlock<16>, false>, "{1} without its first {2} terms", FirstBlock<16>},
    {ChangeTerms<FirstBlock<32>, false>, "{1} without its first {2} terms", FirstBlock<32>},
    {ChangeTerms<FirstBlock<64>, false>, "{1} without its first {2} terms", FirstBlock<64>},
    {ChangeTerms<FirstHalf, false>, "{1} without its first {2} terms", FirstHalf},
    {ChangeTerms<LastBlock<4>, true>, "{1} with its last {2} terms twice", LastBlock<4>},
    {ChangeTerms<LastBlock<8>, true>, "{1} with its last {2} terms twice", LastBlock<8>},
    {ChangeTerms<LastBlock<16>, true>, "{1} with its last {2} terms twice", LastBlock<16>},
    {ChangeTerms<LastVector<4>, true>, "{1} with {2} of its last 4 terms twice", LastVector<4>},
    {ChangeTerms<LastVector<8>, true>, "{1} with {2} of its last 8 terms twice", LastVector<8>},
    {ChangeTerms<LastVector<16>, true>, "{1} with {2} of its last 16 terms twice", LastVector<16>},
    {ChangeTerms<FirstBlock<8>, true>, "{1} with its first {2} terms twice", FirstBlock<8>},
    {ChangeTerms<FirstBlock<16>, true>, "{1} with its first {2} terms twice", FirstBlock<16>},
    {ChangeTerms<FirstBlock<32>, true>, "{1} with its first {2} terms twice", FirstBlock<32>},
    {ChangeTerms<InnerBlock<8, 1>, true>, "{1} with its second {2} terms twice", InnerBlock<8, 1>},
    {ChangeTerms<InnerBlock<16, 1>, true>, "{1} with its second {2} terms twice", InnerBlock<16, 1>},
    {ChangeTerms<InnerBlock<16, 2>, true>, "{1} with its third {2} terms twice", InnerBlock<16, 2>},
    {ChangeTerms<InnerBlock<32, 1>, true>, "{1} with its second {2} terms twice", InnerBlock<32, 1>},
    {ChangeTerms<InnerBlock<32, 2>, true>, "{1} with its third {2} terms twice", InnerBlock<32, 2>},
    {ChangeTerms<LastBlock<32>, true>, "{1} with its last {2} terms twice", LastBlock<32>},
    {ReadTailFrom<4, TailFrom::kStart>, "{1} with its first ones in place of its last {2} terms", LastBlock<4>},
    {ReadTailFrom<4, TailFrom::kOwnLength>, "{1} with as many behind its first ones in place of its last {2} terms",
     LastBlock<4>},
    {ReadTailFrom<4, TailFrom::kBlockBefore>, "{1} with those before them in place of its last {2} terms",
     LastBlock<4>},
    {ReadTailFrom<8, TailFrom::kStart>, "{1} with its first ones in place of its last {2} terms", LastBlock<8>},
    {ReadTailFrom<8, TailFrom::kOwnLength>, "{1} with as many behind its first ones in place of its last {2} terms",
     LastBlock<8>},
    {ReadTailFrom<8, TailFrom::kBlockBefore>, "{1} with those before them in place of its last {2} terms",
     LastBlock<8>},
    {ReadTailFrom<16, TailFrom::kStart>, "{1} with its first ones in place of its last {2} terms", LastBlock<16>},
    {ReadTailFrom<16, TailFrom::kOwnLength>, "{1} with as many behind its first ones in place of its last {2} terms",
     LastBlock<16>},
    {ReadTailFrom<16, TailFrom::kBlockBefore>, "{1} with those before them in place of its last {2} terms",
     LastBlock<16>},
    {ReadTailFrom<32, TailFrom::kStart>, "{1} with its first ones in place of its last {2} terms", LastBlock<32>},
    {ReadTailFrom<32, TailFrom::kOwnLength>, "{1} with as many behind its first ones in place of its last {2} terms",
     LastBlock<32>},
    {ReadTailFrom<32, TailFrom::kBlockBefore>, "{1} with those before them in place of its last {2} terms",
     LastBlock<32>},
    {LoseLane<2, 1>, "{1} without every second term"},
    {LoseLane<4, 3>, "{1} without every 4th term"},
    {LoseLane<8, 7>, "{1} without every 8th term"},
    {LoseLane<16, 15>, "{1} without every 16th term"},
    {LoseLane<32, 31>, "{1} without every 32nd term"},
    {ExcludeOwnTerm, "{1} without its own term"},
    {ScanFromEnd, "{1} from the end"},
    {TakeStepBefore, "{1} of the step before, 0 at the first one"},
    {TakeAddendAlone},
    {MultiplyAddend},
    {BeginAtOne, "{1} that begins at 1"},
    {BeginEachBlockAnew<8>, "{1} that begins anew every 8 steps"},
    {BeginEachBlockAnew<16>, "{1} that begins anew every 16 steps"},
    {BeginEachBlockAnew<32>, "{1} that begins anew every 32 steps"},
    {BeginEachBlockAnew<64>, "{1} that begins anew every 64 steps"},
    {BeginEachBlockAnew<128>, "{1} that begins anew every 128 steps"},
    {BeginEachBlockAnew<256>, "{1} that begins anew every 256 steps"},
    {BeginOneBlockAnew<8, OneBlock::kSecond>, kAnewAt, StartOfBlock<8, OneBlock::kSecond>},
    {BeginOneBlockAnew<8, OneBlock::kThird>, kAnewAt, StartOfBlock<8, OneBlock::kThird>},
    {BeginOneBlockAnew<8, OneBlock::kFourth>, kAnewAt, StartOfBlock<8, OneBlock::kFourth>},
    {BeginOneBlockAnew<8, OneBlock::kLast>, kAnewAt, StartOfBlock<8, OneBlock::kLast>},
    {BeginOneBlockAnew<16, OneBlock::kSecond>, kAnewAt, StartOfBlock<16, OneBlock::kSecond>},
    {BeginOneBlockAnew<16, OneBlock::kThird>, kAnewAt, StartOfBlock<16, OneBlock::kThird>},
    {BeginOneBlockAnew<16, OneBlock::kFourth>, kAnewAt, StartOfBlock<16, OneBlock::kFourth>},
    {BeginOneBlockAnew<16, OneBlock::kLast>, kAnewAt, StartOfBlock<16, OneBlock::kLast>},
    {BeginOneBlockAnew<32, OneBlock::kSecond>, kAnewAt, StartOfBlock<32, OneBlock::kSecond>},
    {BeginOneBlockAnew<32, OneBlock::kThird>, kAnewAt, StartOfBlock<32, OneBlock::kThird>},
    {BeginOneBlockAnew<32, OneBlock::kFourth>, kAnewAt, StartOfBlock<32, OneBlock::kFourth>},
    {BeginOneBlockAnew<32, OneBlock::kLast>, kAnewAt, StartOfBlock<32, OneBlock::kLast>},
    {BeginOneBlockAnew<64, OneBlock::kSecond>, kAnewAt, StartOfBlock<64, OneBlock::kSecond>},
    {BeginOneBlockAnew<64, OneBlock::kThird>, kAnewAt, StartOfBlock<64, OneBlock::kThird>},
    {BeginOneBlockAnew<64, OneBlock::kFourth>, kAnewAt, StartOfBlock<64, OneBlock::kFourth>},
    {BeginOneBlockAnew<64, OneBlock::kLast>, kAnewAt, StartOfBlock<64, OneBlock::kLast>},
    {InvertPlaces, "{1}, and what is taken alike, of all other places", nullptr, true},
    {ReplaceReduction<Kind::kMax, Kind::kMin>},
    {ReplaceReduction<Kind::kMin, Kind::kMax>},
    {ReplaceReduction<Kind::kSum, Kind::kMax>},
    {Replace<Function::kMaximum, Function::kMinimum>},
    {Replace<Function::kMinimum, Function::kMaximum>},
    {Replace<Function::kTanh, Function::kErf>},
    {Replace<Function::kErf, Function::kTanh>},
    {Replace<Function::kTanh, Function::kSigmoid>},
    {Replace<Function::kSigmoid, Function::kTanh>},
    {TakeQuickGate},
    {TakeNormalGate},
    {TakeNormalGateByTanh},
    {TakeQuickGateForNormal},
    {TakeRelu},
    {TakeSoftplusOfTwo, "softplus with beta 2 in place of {1}"},
    {SubtractMeanBeforeSquare},
    {Replace<Function::kSqrt, Function::kRsqrt>},
    {Replace<Function::kRsqrt, Function::kSqrt>},
    {Replace<Function::kSin, Function::kCos>},
    {Replace<Function::kCos, Function::kSin>},
    {Replace<Function::kLog, Function::kLog1p>},
    {Replace<Function::kLog1p, Function::kLog>},
    {AddOneToSumOfExponentials},
    {AddExponentialOfZero},
    {Replace<Function::kAnd, Function::kOr>},
    {Replace<Function::kOr, Function::kAnd>},
    {ReduceMagnitudes},
    {StartAtZero},
    {TakeOperand<1, 2>, "{0} in place of {1}, and where it is alike", nullptr, true, true},
    {ChangeTerms<LastTerm, false>, "{1}, and others along the same axes, without the last term", nullptr, true, true},
    {ChangeTerms<FirstTerm, false>, "{1}, and others along the same axes, without the first term", nullptr, true, true},
    {ChangeTerms<AllButFirst, false>, "{1}, and others along the same axes, of the first term alone", nullptr, true,
     true},
    {TakeMeanAlong<Along::kAll, 0>, "{1}, and means like it, over the whole tensor", nullptr, true, false, true},
    {TakeMeanAlong<Along::kOther, 0>, "{1}, and means like it, along another axis", nullptr, true, false, true},
    {TakeMeanAlong<Along::kOther, 1>, "{1}, and means like it, along another axis", nullptr, true, false, true},
    {TakeMeanAlong<Along::kPart, 0>, "{1}, and means like it, along one of their axes", nullptr, true, false, true},
    {TakeMeanAlong<Along::kPart, 1>, "{1}, and means like it, along one of their axes", nullptr, true, false, true},
    {TakeMeanAlong<Along::kMore, 0>, "{1}, and means like it, along one axis more", nullptr, true, false, true},
    {TakeMeanAlong<Along::kMore, 1>, "{1}, and means like it, along one axis more", nullptr, true, false, true},
    {TakeMeanAlong<Along::kExchanged, 0>, "{1}, and means like it, along another axis in place of one of theirs",
     nullptr, true, false, true},
    {TakeMeanAlong<Along::kExchanged, 1>, "{1}, and means like it, along another axis in place of one of theirs",
     nullptr, true, false, true},
    {TakeMeanOfPart<FirstHalf>, "{1}, and means like it, of the first {2} terms", FirstHalf, true},
    {TakeMeanOfPart<AllButLast>, "{1}, and means like it, of the first {2} terms", AllButLast, true},
    {TakeMeanOfPart<FirstTerms<32>>, "{1}, and means like it, of the first {2} terms", FirstTerms<32>, true},
    {TakeMeanOfPart<FirstTerms<64>>, "{1}, and means like it, of the first {2} terms", FirstTerms<64>, true},
    {TakeMeanOfPart<FirstTerms<128>>, "{1}, and means like it, of the first {2} terms", FirstTerms<128>, true},
    {TakeMeanOfPart<WholeBlocksOf<8>>, "{1}, and means like it, of the first {2} terms", WholeBlocksOf<8>, true},
    {TakeMeanOfPart<WholeBlocksOf<16>>, "{1}, and means like it, of the first {2} terms", WholeBlocksOf<16>, true},
    {TakeMeanOfPart<WholeBlocksOf<32>>, "{1}, and means like it, of the first {2} terms", WholeBlocksOf<32>, true},
    {TakeMeanOfPart<WholeBlocksOf<64>>, "{1}, and means like it, of the first {2} terms", WholeBlocksOf<64>, true},
    {MoveElements<1>, "{1} shifted by one"},
    {MoveElements<-1>, "{1} shifted by one"},
    {ReplaceConstant<WholeBlocks<16>>},
    {ReplaceConstant<WholeBlocks<32>>},
    {NegateResult},
    {AddPadding<8>, "{1} with {2} lanes of padding", PaddingOf<8>},
    {AddPadding<16>, "{1} with {2} lanes of padding", PaddingOf<16>},
    {AddPadding<32>, "{1} with {2} lanes of padding", PaddingOf<32>},
    {AddPadding<64>, "{1} with {2} lanes of padding", PaddingOf<64>},
    {AddPadding<128>, "{1} with {2} lanes of padding", PaddingOf<128>},
    {AddPadding<0>, "{1} with {2} lanes of padding", PaddingOf<0>},
    {DivideByWholeWindow, "a division by whole windows in place of {1}"},
    {RoundBeforeCutOff<ToZero>, "{1} rounded toward 0"},
    {RoundBeforeCutOff<Floor>, "{1} rounded down"},
    {RoundBeforeCutOff<Ceiling>, "{1} rounded up"},
    {WrapRound, "what wraps round in place of {1}"},
    {LeaveOutFraction, "{1} without the fraction of its exponent in base 2"},
    {Overflow, "exponentials from which the maximum was not subtracted, infinite beyond f32"},
};

}  // namespace

const Node* FindSumOfMean(const Graph& graph, const Node& node) {
  if (!Maps(node, Function::kDiv)) return nullptr;
  const Node &sum = graph.At(node.args[0]), &count = graph.At(node.args[1]);
  const bool is_mean = sum.kind == Kind::kSum && count.kind == Kind::kConst &&
                       count.constant == static_cast<double>(graph.ExtentOf(sum.reduced));
  return is_mean ? &sum : nullptr;
}

AxisSet FindReducedAxes(const Graph& graph, const Node& node) {
  if (node.kind == Kind::kRecur) return SetOf(node.axis);
  const Node* const sum = FindSumOfMean(graph, node);
  return sum == nullptr ? node.reduced : sum->reduced;
}

std::span<const ChangeRule> ListChangeRules() {
  return kRules;
}

}  // namespace assay::formula
