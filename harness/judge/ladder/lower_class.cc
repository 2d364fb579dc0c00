// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ladder/lower_class.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/judge/ladder/lower_class_fit.h"
#include "harness/judge/ladder/narrowed_order.h"
#include "harness/judge/ladder/partial_sums.h"
#include "harness/judge/ladder/place_pattern.h"
#include "harness/judge/metrics.h"
#include "ops/part_of_case.h"

namespace assay {
namespace {

struct Candidate {
  std::string field, name;
  std::function<void(Contract&)> weaken;         // makes the class of a contract
  std::function<double(DType, double)> operand;  // what the unit makes of an operand; none: nothing
  std::function<void(Contract&)> judge_by;       // changes the declared contract to the one that judges; none: nothing
  std::function<bool(const ElementJudge&, const Tensor&, const ErrorMetrics&)> fills;  // besides bound and statistic
  // Instead of `operand`: the golden value of what the unit computes. nullopt: it does not compute such a thing.
  std::function<std::optional<Golden>(const Operator&, const Problem&, std::span<const Tensor>, Tier)> golden = {};
  double roundings = 1;  // of the accumulator, for each that the declared contract has
  // The format of partial sums, or of the operator's own intermediates, that are formed and compared. Where the class
  // has no statistic, their errors make it.
  std::optional<DType> partials = std::nullopt;
  // Of an accumulator whose sums are formed. Where they are not recognised, statistic and `fills` have to tell.
  std::optional<DType> accumulator = std::nullopt;
  // Significant bits of every result of the class, whatever the data; 0: those of the output.
  int precision = 0;
};

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

Candidate Accumulates(const char* field, const char* name, Accumulator acc, DType type) {
  const auto change = [acc](Contract& c) { c.acc = acc; };
  const auto fills = [type](const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics) {
    // What a narrower accumulator leaves as well is the narrower one's.
    const FloatFormat& bf16 = FormatOf(DType::kBF16);
    const bool narrower = type != DType::kBF16 && FormatOf(judge.dtype()).precision > bf16.precision &&
                          HoldsPrecision(bf16, judge.dtype(), got);
    return !narrower && HoldsPrecision(FormatOf(type), judge.dtype(), got) && FillsEvenly(judge, got, metrics) &&
           FollowsRunningSums(judge, got, metrics);
  };
  Candidate candidate{field, name, change, nullptr, change, fills};
  candidate.accumulator = type;
  candidate.precision = FormatOf(type).precision;
  return candidate;
}

Candidate StoresPartials(const char* field, const char* name, Intermediate mid, DType type) {
  const auto change = [mid](Contract& c) { c.mid = mid; };
  Candidate candidate{field, name, change, nullptr, change, FillsEvenly};
  candidate.partials = type;
  return candidate;
}

// Matrix units that align a block of products and cut what lies below F fraction bits, and their f32 results.
Candidate Truncates(const char* field, const char* name, int bits, int block) {
  const auto change = [bits, block](Contract& c) {
    c.acc = Accumulator::kTensorCore;
    c.tc_bits = bits;
    c.tc_block = block;
  };
  return {field, name, change, nullptr, change, [](const ElementJudge& judge, const Tensor& got, const ErrorMetrics&) {
            return FormatOf(judge.dtype()).precision >= FormatOf(DType::kF32).precision && LosesTypically(judge, got) &&
                   IsBiased(judge, got);
          }};
}

// Matrix units of 13 fraction bits for fp8 operands cut their f32 results to as many.
Candidate Truncates13() {
  const auto change = [](Contract& c) {
    c.acc = Accumulator::kTensorCore;
    c.tc_bits = 13;
    c.tc_block = 32;
  };
  Candidate candidate{"acc=tc<13,32>",
                      "a matrix unit of 13 fraction bits",
                      change,
                      nullptr,
                      change,
                      [](const ElementJudge& judge, const Tensor& got, const ErrorMetrics&) {
                        FloatFormat format = FormatOf(DType::kF32);
                        format.precision = 14;
                        return FormatOf(judge.dtype()).precision > 14 && HoldsPrecision(format, judge.dtype(), got) &&
                               !HoldsPrecision(FormatOf(DType::kF16), judge.dtype(), got) && IsBiased(judge, got);
                      }};
  candidate.precision = 14;
  return candidate;
}

Candidate RoundsOperands(const char* field, const char* name, InputRounding in, std::function<double(double)> round) {
  return {field,   name,   [in](Contract& c) { c.in = in; }, [round](DType, double x) { return round(x); },
          nullptr, nullptr};
}

double ToBf16(double x) {
  return RoundTo(FormatOf(DType::kBF16), x);
}

// a b = (a1 + a2)(b1 + b2) - a2 b2 with a1 = bf16(a), a2 = bf16(a - a1): products of bf16 parts, without the smallest.
// Sums of products alone: their first two operands are the factors.
std::optional<Golden> ThreeBf16Products(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                        Tier tier) {
  const std::optional<SumForm> sum = op.SumOf(problem);
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
  Golden golden = op.ComputeGolden(problem, whole, tier);
  const Golden left_out = op.ComputeGolden(problem, rest, tier);
  for (int64_t i = 0; i < golden.size(); ++i) {
    double& y = golden.value[static_cast<size_t>(i)];
    y -= left_out.value[static_cast<size_t>(i)];
    const double rounding = std::isfinite(y) ? 0x1p-52 * std::fabs(y) : 0;
    golden.error.SetUp(i, golden.error[i] + left_out.error[i] + rounding);
  }
  return golden;
}

// From tight to loose.
std::vector<Candidate> Ladder() {
  const auto flush = [](Flush what) { return [what](Contract& c) { c.ftz = what; }; };
  const auto toward_zero = [](Contract& c) { c.out = OutputRounding::kTowardZero; };
  const auto to_tf32 = [format = Tf32()](double x) { return RoundTo(format, x); };
  const auto bf16x3 = [](Contract& c) { c.in = InputRounding::kBF16x3; };
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
      {"in=bf16x3", "three bf16 products", bf16x3, nullptr, nullptr, nullptr, ThreeBf16Products, 3},
      RoundsOperands("in=tf32rn", "tf32", InputRounding::kTF32RN, to_tf32),
      RoundsOperands("in=tf32rz", "tf32", InputRounding::kTF32RZ, [](double x) { return CutTo(11, x); }),
      Truncates13(),
      StoresPartials("mid=f16", "f16", Intermediate::kF16, DType::kF16),
      Accumulates("acc=f16", "f16 sums", Accumulator::kF16, DType::kF16),
      RoundsOperands("in=bf16", "bf16 operands", InputRounding::kBF16, ToBf16),
      StoresPartials("mid=bf16", "bf16", Intermediate::kBF16, DType::kBF16),
      Accumulates("acc=bf16", "bf16 sums", Accumulator::kBF16, DType::kBF16),
      RoundsOperands("in=fp8", "e4m3 operands", InputRounding::kFP8,
                     [](double x) { return RoundTo(FormatOf(DType::kE4M3), x); }),
      RoundsOperands("in=fp8", "scaled e4m3 operands", InputRounding::kFP8,
                     [scaled_fp8](double x) { return RoundTo(scaled_fp8, x); }),
  };
}

// The operands as the unit sees them: only the factors go through it. False: no change.
bool RoundOperands(const Candidate& candidate, const Operator& op, const Problem& problem,
                   std::span<const Tensor> inputs, std::vector<Tensor>& rounded) {
  bool changed = false;
  for (size_t k = 0; k < inputs.size(); ++k) {
    rounded.push_back(inputs[k].Clone());
    if (!op.IsFactor(problem, k) || !IsFloat(inputs[k].dtype())) continue;
    std::vector<double> values = inputs[k].ToDoubles();
    for (double& x : values) {
      const double seen = candidate.operand(inputs[k].dtype(), x);
      changed = changed || seen != x;
      x = seen;
    }
    rounded.back().SetDoubles(values);
  }
  return changed;
}

// As many roundings in place of each one.
void AddRoundings(double roundings, BoundModel& bound) {
  for (BoundTerm& term : bound.terms) term.coefficient *= roundings;
  bound.statistic.sigma_scale *= std::sqrt(roundings);
  bound.statistic.floor *= std::sqrt(roundings);
}

double BytesOf(const Golden& golden) {
  const auto plane = [](const Plane& p) { return static_cast<double>(p.size()) * (p.wide() ? 8 : 4); };
  double bytes = 8 * static_cast<double>(golden.value.size() + golden.value_lo.size());
  bytes += plane(golden.magnitude) + plane(golden.sigma) + plane(golden.error);
  for (const auto& [name, extra] : golden.extra) bytes += plane(extra);
  return bytes;
}

// Slices beside those of the worst elements that a weaker arithmetic has to explain before the whole case is tried.
constexpr int64_t kOtherSlices = 4;

class Search {
 public:
  Search(const Operator& op, const Problem& problem, const Contract& declared, const Golden& golden,
         const JudgedOutput& main, LadderGoldens& goldens)
      : op_(op), problem_(problem), declared_(declared), golden_(golden), goldens_(goldens) {
    std::vector<int64_t> elements;
    for (const WorstElement& worst : main.worst) elements.push_back(worst.index);
    if (elements.empty()) return;
    part_ = TakePart(op, problem, main.inputs, elements, kOtherSlices);
    if (!part_) return;
    part_got_ = part_->TakeOutput(*main.got);
    part_golden_ = std::make_shared<const Golden>(op.ComputeGolden(part_->problem, part_->inputs, golden.tier));
  }

  // What the class is called with these results, and the main output's metrics by it, if it explains all outputs.
  struct Explanation {
    std::string name;
    ErrorMetrics metrics;
    std::optional<double> stat_margin;
  };
  std::optional<Explanation> Explains(const Candidate& candidate, const JudgedOutput& main,
                                      std::span<const JudgedOutput> twins) const {
    std::string name = candidate.name;
    if (part_ && IsRefutedByPart(candidate)) return std::nullopt;
    const auto order = RecognisedSums(candidate, main);
    if (candidate.partials && !order) return std::nullopt;
    if (order) name += (candidate.partials ? " " : ", ") + *order;
    const Contract contract = JudgingContract(candidate);
    const As as = order ? As::kRecognised : As::kMain;
    auto metrics = MetricsIfHolds(candidate, contract, main, as);
    const auto holds = [&](const JudgedOutput& twin) {
      return MetricsIfHolds(candidate, contract, twin, As::kTwin).has_value();
    };
    if (!metrics || !std::ranges::all_of(twins, holds)) return std::nullopt;
    std::optional<double> stat_margin;
    if (!SaysMoreThanStatistic(candidate, as)) stat_margin = metrics->statistic.margin;
    return Explanation{std::move(name), *std::move(metrics), stat_margin};
  }

 private:
  // The main output, its sums recognised or not, or a twin's.
  enum class As { kMain, kRecognised, kTwin };

  // Nothing is left to be random where every sum comes out as predicted.
  static bool SaysMoreThanStatistic(const Candidate& candidate, As as) {
    return candidate.accumulator && as == As::kRecognised;
  }

  std::optional<std::string> RecognisedSums(const Candidate& candidate, const JudgedOutput& main) const {
    if (!candidate.partials && !candidate.accumulator) return std::nullopt;
    const BoundModel bound = op_.Bound(problem_, golden_, declared_);
    const ElementJudge judge(golden_, bound, declared_, main.got->dtype());
    if (!StatisticApplies(judge)) return std::nullopt;  // what would remain has no known size
    if (candidate.partials) {
      const auto orders = op_.Narrowed(problem_, main.inputs, FormatOf(*candidate.partials));
      if (orders != nullptr) return RecognisedOrderOf(candidate, *orders, judge, *main.got);
    }
    const auto find = candidate.partials ? FindRoundedPartials : FindNarrowSums;
    const DType type = candidate.partials ? *candidate.partials : *candidate.accumulator;
    const auto products = op_.Products(problem_, main.inputs);
    return products ? find(*products, judge, *main.got, FormatOf(type)) : std::nullopt;
  }

  std::optional<std::string> RecognisedOrderOf(const Candidate& candidate, const NarrowedOrders& orders,
                                               const ElementJudge& judge, const Tensor& got) const {
    Contract contract = declared_;
    candidate.judge_by(contract);
    const BoundModel bound = op_.Bound(problem_, golden_, contract);
    return FindNarrowedOrder(problem_, orders, judge, ElementJudge(golden_, bound, contract, got.dtype()), got);
  }

  Contract JudgingContract(const Candidate& candidate) const {
    Contract contract = declared_;
    if (candidate.judge_by) candidate.judge_by(contract);
    return contract;
  }

  BoundModel BoundBy(const Candidate& candidate, const Problem& problem, const Golden& golden,
                     const Contract& contract) const {
    BoundModel bound = op_.Bound(problem, golden, contract);
    AddRoundings(candidate.roundings, bound);
    return bound;
  }

  // A narrow accumulator promises nothing for sums of more than 1 / (2 u) terms; an error of S is no result at all.
  static void LimitToMagnitude(BoundModel& bound) {
    for (BoundTerm& term : bound.terms) term.coefficient = std::min(term.coefficient, 1.0);
    if (!std::isfinite(bound.constant)) bound.constant = bound.statistic.constant = 0;
  }

  // Whether elements of a part of the case are beyond what the class permits, so that the whole is.
  bool IsRefutedByPart(const Candidate& candidate) const {
    const bool as_they_are = !candidate.operand && !candidate.golden;
    const auto golden = as_they_are ? part_golden_ : MakeGolden(candidate, part_->problem, part_->inputs, false);
    if (golden == nullptr) return false;
    const Contract contract = JudgingContract(candidate);
    BoundModel bound = BoundBy(candidate, part_->problem, *golden, contract);
    LimitToMagnitude(bound);
    return !Measure(*golden, bound, contract, *part_got_, {.only_if_holds = true}).Holds();
  }

  // Null where the class makes nothing else of the case's operands.
  LadderGoldens::Made MakeGolden(const Candidate& candidate, const Problem& problem, std::span<const Tensor> inputs,
                                 bool is_twin) const {
    if (candidate.golden) {
      auto golden = candidate.golden(op_, problem, inputs, golden_.tier);
      return golden ? std::make_shared<const Golden>(*std::move(golden)) : nullptr;
    }
    std::vector<Tensor> rounded;
    if (candidate.operand && !RoundOperands(candidate, op_, problem, inputs, rounded) && !is_twin) return nullptr;
    return std::make_shared<const Golden>(
        op_.ComputeGolden(problem, candidate.operand ? std::span<const Tensor>(rounded) : inputs, golden_.tier));
  }

  std::optional<ErrorMetrics> MetricsIfHolds(const Candidate& candidate, const Contract& contract,
                                             const JudgedOutput& output, As as) const {
    const bool is_twin = as == As::kTwin;
    LadderGoldens::Made own;
    if (is_twin || candidate.operand || candidate.golden) {
      const bool as_they_are = !candidate.operand && !candidate.golden;
      own = goldens_.Get(as_they_are ? "" : candidate.field + " " + candidate.name, output.inputs,
                         [&] { return MakeGolden(candidate, problem_, output.inputs, is_twin); });
      if (own == nullptr) return std::nullopt;
    }
    const Golden& golden = own ? *own : golden_;
    BoundModel bound = BoundBy(candidate, problem_, golden, contract);
    if (candidate.partials && as == As::kRecognised && !bound.statistic.applicable) {
      auto own_errors = StatisticOfOwnErrors(golden, *output.got, contract.AccUnitRoundoff());
      if (!own_errors) return std::nullopt;
      bound.statistic = *std::move(own_errors);
    }
    LimitToMagnitude(bound);
    ErrorMetrics metrics =
        Measure(golden, bound, contract, *output.got, {.even_if_stagnating = true, .only_if_holds = true});
    if (!metrics.Holds()) return std::nullopt;
    const ElementJudge judge(golden, bound, contract, output.got->dtype());
    if (BreaksExactSum(op_.SumOf(problem_), output.inputs, golden, contract, judge, *output.got)) return std::nullopt;
    FloatFormat held = FormatOf(DType::kF32);
    held.precision = candidate.precision;
    if (is_twin && candidate.precision > 0 && !HoldsPrecision(held, judge.dtype(), *output.got)) return std::nullopt;
    if (as != As::kRecognised && NarrowsSums(contract) && KeepsToPlacesBy(judge, *output.got)) return std::nullopt;
    if (is_twin || SaysMoreThanStatistic(candidate, as)) return metrics;
    if (!metrics.statistic.applicable || !metrics.statistic.Holds()) return std::nullopt;
    if (own != nullptr && candidate.field.starts_with("in=") && !LeavesLess(judge, *output.got)) return std::nullopt;
    if (candidate.fills && !candidate.fills(judge, *output.got, metrics)) return std::nullopt;
    return metrics;
  }

  // A class with another golden value is there for that: with it at least half is gone of the squared errors, but for
  // the output's own rounding.
  bool LeavesLess(const ElementJudge& by_class, const Tensor& got) const {
    const BoundModel bound = op_.Bound(problem_, golden_, declared_);
    const ElementJudge as_declared(golden_, bound, declared_, got.dtype());
    const std::vector<double> values = got.ToDoubles();
    double squares = 0, left = 0;
    for (int64_t i = 0; i < std::ssize(values); ++i) {
      const Judgement before = as_declared.Judge(i, values[i]), after = by_class.Judge(i, values[i]);
      if (!before.finite || !after.finite) continue;
      squares += std::pow(std::max(0.0, before.Beyond()), 2);
      left += std::pow(std::max(0.0, after.Beyond()), 2);
    }
    return left <= 0.5 * squares;
  }

  // Whether the class is about sums, whose errors are wherever sums are, and not about values of some size.
  bool NarrowsSums(const Contract& by_class) const {
    return by_class.acc != declared_.acc || by_class.mid != declared_.mid;
  }

  bool KeepsToPlacesBy(const ElementJudge& by_class, const Tensor& got) const {
    const BoundModel bound = op_.Bound(problem_, by_class.golden(), declared_);
    return KeepsToPlaces(ElementJudge(by_class.golden(), bound, declared_, got.dtype()), by_class, got);
  }

  const Operator& op_;
  const Problem& problem_;
  const Contract& declared_;
  const Golden& golden_;
  LadderGoldens& goldens_;
  // The slices with the worst elements of the main output, what they are and what they should be.
  std::optional<PartOfCase> part_;
  std::optional<Tensor> part_got_;
  LadderGoldens::Made part_golden_;
};

}  // namespace

LadderGoldens::Made LadderGoldens::Get(const std::string& name, std::span<const Tensor> inputs,
                                       const std::function<Made()>& make) {
  const auto key = std::pair(name, inputs.data());
  if (const auto it = goldens_.find(key); it != goldens_.end()) return it->second;
  ++made_;
  Made golden = make();
  const double bytes = golden == nullptr ? 0 : BytesOf(*golden);
  if (bytes_ + bytes > most_bytes_) return golden;
  bytes_ += bytes;
  goldens_.emplace(key, golden);
  return golden;
}

std::optional<LowerClass> FindLowerClass(const Operator& op, const Problem& problem, const Contract& declared,
                                         const Golden& golden, const JudgedOutput& main,
                                         std::span<const JudgedOutput> twins, LadderGoldens* goldens) {
  if (!IsFloat(main.got->dtype()) || IsComplex(main.got->dtype()) || golden.exact) return std::nullopt;
  LadderGoldens own;
  const Search search(op, problem, declared, golden, main, goldens == nullptr ? own : *goldens);
  for (const Candidate& candidate : Ladder()) {
    Contract weaker = declared;
    candidate.weaken(weaker);
    // What the declaration permits already explains nothing.
    if (!Meets(declared, weaker) || Meets(weaker, declared)) continue;
    const bool is_of_sums = weaker.acc != declared.acc || weaker.mid != declared.mid;
    if (is_of_sums && !op.Sums(problem)) continue;
    if (const auto found = search.Explains(candidate, main, twins)) {
      return LowerClass{weaker, candidate.field, found->name, found->metrics.bound_margin, found->stat_margin};
    }
  }
  return std::nullopt;
}

}  // namespace assay
