// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/narrowed_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>

#include "harness/tools/explain/shared_factor.h"
#include "ops/formula/formula_text.h"

namespace assay {
namespace {

using formula::Graph;
using formula::Narrowing;
using What = Narrowing::What;

constexpr int kBitsOfF32 = 24, kBitsOfBF16 = 8, kBitsOfTF32 = 11;
constexpr int kBitsOfResults[] = {8, 11, 4, 3, 9, 10, 12, 13, 14, 16, 18}, kBitsOfSums[] = {8, 11, kBitsOfF32};

std::string FormatText(int bits) {
  switch (bits) {
    case 3:
      return "e5m2";
    case 4:
      return "e4m3";
    case 8:
      return "bf16";
    case 11:
      return "f16";
    case kBitsOfF32:
      return "f32";
    default:
      return fmt::format("{} bits", bits);
  }
}

// `format`: that of the numbers.
std::string DescribeNarrowing(const Graph& graph, const Narrowing& narrowing, const std::string& format_name) {
  const std::string node = formula::FormulaText(graph, narrowing.node);
  const std::string format = format_name + (narrowing.of_operands ? ", as all operands" : "");
  switch (narrowing.what) {
    case What::kRunningSum:
      return narrowing.every == 1
                 ? fmt::format("running sums {} in {}", node, format)
                 : fmt::format("running sums {} rounded to {} every {} terms", node, format, narrowing.every);
    case What::kBlockTerms:
      return fmt::format("{} in blocks of {} terms in {}", node, narrowing.every, format);
    case What::kBlocks:
      return fmt::format("{} in blocks of {} terms, each rounded to {}", node, narrowing.every, format);
    case What::kOnce:
      return fmt::format("running sums {} rounded to {} once, after {} terms", node, format, narrowing.every);
    case What::kReciprocal:
      return fmt::format("the reciprocal of {} rounded to {}",
                         formula::FormulaText(graph, graph.At(narrowing.node).args[1]), format);
    case What::kResult:
      break;
  }
  const std::string where = narrowing.user < 0 ? "" : " in " + formula::FormulaText(graph, narrowing.user);
  const formula::Node& info = graph.At(narrowing.node);
  if (info.kind == formula::Kind::kConst && narrowing.format &&
      RoundTo(FormatOf(*narrowing.format), info.constant) == 0) {
    return fmt::format("0 in place of {}{}", node, where);  // a term that is left out is likelier than a format
  }
  return fmt::format("{} {} to {}{}", node, narrowing.cut ? "cut" : "rounded", format, where);
}

// Whether kernels keep its results: a sum, a function, an operand, or a constant that is no count.
bool IsKept(const formula::Node& node) {
  const bool is_kept = node.kind == formula::Kind::kMap || formula::IsReduction(node.kind) ||
                       node.kind == formula::Kind::kIn ||
                       (node.kind == formula::Kind::kConst && node.constant != std::trunc(node.constant));
  return is_kept && node.numbers == formula::Numbers::kReal;
}

std::vector<std::vector<int>> FindUsers(const Graph& graph) {
  std::vector<std::vector<int>> users(graph.nodes.size());
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    for (const int arg : graph.At(i).args) users[static_cast<size_t>(arg)].push_back(i);
  }
  return users;
}

// The last of several operands, for which all are named that are narrowed together.
bool IsLastOperand(const Graph& graph, int node) {
  const auto is_operand = [](const formula::Node& other) { return other.kind == formula::Kind::kIn; };
  const auto from = graph.nodes.begin() + node;
  return std::any_of(graph.nodes.begin(), from, is_operand) && std::none_of(from + 1, graph.nodes.end(), is_operand);
}

// After how many terms kernels store or add narrow sums: each, usual blocks, parts of the sum, and whole runs along the
// innermost axis of several, as of all taps of some channels.
std::set<int64_t> ListStretches(const Graph& graph, formula::AxisSet reduced) {
  const int64_t terms = graph.ExtentOf(reduced);
  std::set<int64_t> stretches = {1, 8, 16, 32, 64, 128, (terms + 1) / 2, (terms + 3) / 4};
  const formula::AxisSet outer = reduced & (reduced - 1);
  const int innermost = std::bit_width(static_cast<uint64_t>(reduced)) - 1;
  for (const int64_t runs : {1, 2, 4, 8}) {
    if (outer != 0) stretches.insert(runs * graph.Extent(innermost));
  }
  std::erase_if(stretches, [&](int64_t every) { return every < 1 || every >= terms; });
  return stretches;
}

// Narrows results of a node for all who read them or for one, its reciprocal and its running sums.
void AddNarrowings(const Graph& graph, const std::vector<int>& users, Narrowing like, std::vector<Narrowing>& all) {
  const formula::Node& info = graph.At(like.node);
  const auto add = [&](What what, int user = -1, int64_t every = 1) {
    Narrowing narrowing = like;
    narrowing.what = what, narrowing.user = user, narrowing.every = every;
    all.push_back(narrowing);
  };
  const auto is_among = [&](const auto& bits) { return std::ranges::find(bits, like.bits) != std::end(bits); };
  if (is_among(kBitsOfResults)) {
    add(What::kResult);
    const bool is_last = info.kind == formula::Kind::kIn && IsLastOperand(graph, like.node);
    for (const bool cut : {false, true}) {
      if (cut && like.bits != kBitsOfBF16) continue;
      if (cut) add(What::kResult), all.back().cut = true;
      if (is_last) add(What::kResult), all.back().cut = cut, all.back().of_operands = true;
    }
    for (const int user : users) {
      if (users.size() > 1) add(What::kResult, user);
    }
    if (formula::Maps(info, formula::Function::kDiv)) add(What::kReciprocal);
  }
  if (info.kind != formula::Kind::kSum || !is_among(kBitsOfSums)) return;
  const int64_t half = (graph.ExtentOf(info.reduced) + 1) / 2;
  for (const int64_t every : ListStretches(graph, info.reduced)) {
    if (every > 1 && like.bits == kBitsOfF32) continue;  // blocks that a kernel adds in f32 anyway
    add(What::kRunningSum, -1, every);
    if (every == 1 && like.bits < kBitsOfF32) {
      all.back().of_operands = true;  // a kernel in that format alone
      add(What::kRunningSum, -1, every);
    }
    if (every == 1) continue;
    add(What::kBlockTerms, -1, every), add(What::kBlocks, -1, every);
    if (every == half) add(What::kOnce, -1, every);
  }
}

// Usual formats first, and of each the nodes from the outputs back to the inputs.
std::vector<Narrowing> ListNarrowings(const Graph& graph) {
  std::vector<Narrowing> all;
  const std::vector<std::vector<int>> users = FindUsers(graph);
  const auto add = [&](Narrowing like) {
    for (int node = static_cast<int>(graph.nodes.size()) - 1; node >= 0; --node) {
      like.node = node;
      if (IsKept(graph.At(node))) AddNarrowings(graph, users[static_cast<size_t>(node)], like, all);
    }
  };
  for (const DType format : {DType::kF16, DType::kE4M3, DType::kE5M2})
    add({.bits = FormatOf(format).precision, .format = format});
  for (const int bits : kBitsOfResults) add({.bits = bits});
  add({.bits = kBitsOfF32});
  return all;
}

class NarrowingSearch {
 public:
  NarrowingSearch(const FormulaOfResult& formula, const WrongResult& result)
      : work_(result.work == nullptr ? kSecondsOfOther : result.work->Left() / 2),
        result_(result),
        evaluator_(formula.graph, formula.graph.outputs[0], formula.inputs),
        got_(result.got[result.output].ToDoubles()) {}

  // How the result is made by it. Elements that are right as meant do not count where `reach` is wrong places.
  Reach Explain(const Narrowing& narrowing, ResultFit& fit) {
    if (!IsNearWorst(narrowing)) return Reach::kNothing;
    const std::optional<std::vector<double>> values = Evaluate(narrowing);
    if (!values) return Reach::kNothing;
    for (const Reach reach : {Reach::kAll, Reach::kWrongPlaces}) {
      if (Fits(*values, reach, fit)) return reach;
    }
    return Reach::kNothing;
  }

  bool IsOver() const { return work_.IsOver(); }

  // Likewise of another result of the kernel, where nothing may be wrong.
  bool Makes(const Narrowing& narrowing) {
    const std::optional<std::vector<double>> values = Evaluate(narrowing);
    if (!values) return true;  // more work than may be spent: it says nothing
    if (result_.is_right) return LeavesRight(*values);
    for (const Reach reach : {Reach::kAll, Reach::kWrongPlaces}) {
      if (reach == Reach::kWrongPlaces && !places().HasWrong()) break;
      const Explained of = Compare(*values, reach);
      if (of.is_close && kLeastTimes * kLeastTimes * of.squares <= of.squares_meant) return true;
    }
    return false;
  }

 private:
  static constexpr double kSecondsOfOther = 1;

  const WrongPlaces& places() const { return *result_.places; }

  void SpendOnLane() {
    const double seconds = EstimateSecondsOfLane(evaluator_);
    work_.Spend(seconds);
    if (result_.work != nullptr) result_.work->Spend(seconds);
  }

  bool IsNearWorst(const Narrowing& narrowing) {
    constexpr size_t kMost = 3;
    for (size_t i = 0; i < std::min(kMost, result_.elements.size()); ++i) {
      SpendOnLane();
      const int64_t element = result_.elements[i], lane = evaluator_.LaneOf(element);
      const std::vector<int64_t> in_lane = evaluator_.Elements(lane);
      const auto at = static_cast<size_t>(std::ranges::find(in_lane, element) - in_lane.begin());
      const double got = got_[static_cast<size_t>(element)];
      const Judgement meant = places().judge().Judge(element, got);
      const double value = Store(evaluator_.RunNarrowed(lane, narrowing)[at]);
      if (IsSame(value, got)) continue;  // of infinities there is no distance
      if (!(std::fabs(value - got) <= std::max(std::fabs(meant.error) / 2, meant.Tolerance()))) return false;
    }
    return true;
  }

  // Few bits of an output hide what was lost before, unless both are rounded likewise.
  double Store(double value) const { return RoundTo(FormatOf(places().judge().dtype()), value); }
  static bool IsSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

  // nullopt if it takes too much work, as with the 10^9 terms of a large product.
  std::optional<std::vector<double>> Evaluate(const Narrowing& narrowing) {
    std::vector<double> all(got_.size());
    for (int64_t lane = 0; lane < evaluator_.lanes(); ++lane) {
      if (IsOver()) return std::nullopt;
      SpendOnLane();
      const std::vector<int64_t> elements = evaluator_.Elements(lane);
      const std::span<const double> values = evaluator_.RunNarrowed(lane, narrowing);
      for (size_t i = 0; i < elements.size(); ++i) all[static_cast<size_t>(elements[i])] = Store(values[i]);
    }
    return all;
  }

  bool LeavesRight(const std::vector<double>& values) const {
    int64_t right = 0;
    for (int64_t i = 0; i < std::ssize(values); ++i)
      right += places().judge().Judge(i, values[static_cast<size_t>(i)]).accepted ? 1 : 0;
    return static_cast<double>(right) >= kLeastHit * static_cast<double>(values.size());
  }

  // How values come near the result, in all elements or in the wrong ones.
  struct Explained {
    std::vector<ExplainedElement> elements;
    int64_t looked_at = 0, within = 0, off = 0, equal = 0;
    double squares = 0, squares_meant = 0;
    bool is_close = false;
  };
  Explained Compare(const std::vector<double>& values, Reach reach) const {
    Explained of;
    int64_t hit = 0;
    for (int64_t i = 0; i < std::ssize(values); ++i) {
      if (reach == Reach::kWrongPlaces && !places().IsWrong(i)) continue;
      const double got = got_[static_cast<size_t>(i)], value = values[static_cast<size_t>(i)];
      const Judgement meant = places().judge().Judge(i, got);
      const double rounded = places().judge().Rounded(i);
      ++of.looked_at;
      of.off += IsSame(rounded, got) ? 0 : 1;
      of.equal += IsSame(value, got) ? 1 : 0;
      if (IsSame(value, got) && !meant.finite) {
        ++of.within;  // which leaves no error, and says nothing of how large errors were
        continue;
      }
      const double error = got - value;
      if (!std::isfinite(error) || !meant.finite) return of;
      of.within += std::fabs(error) <= meant.Tolerance() ? 1 : 0;
      hit += kHitTimes * std::fabs(error) <= std::fabs(got - rounded) ? 1 : 0;
      of.squares += error * error, of.squares_meant += (got - rounded) * (got - rounded);
      of.elements.push_back({i, rounded, got - rounded, error, meant.rounding});
    }
    of.is_close = static_cast<double>(of.within) >= kLeastWithin * static_cast<double>(of.looked_at) &&
                  static_cast<double>(hit) >= kLeastHit * static_cast<double>(of.elements.size());
    return of;
  }

  bool Fits(const std::vector<double>& values, Reach reach, ResultFit& fit) const {
    const Explained of = Compare(values, reach);
    const double count = std::max(1.0, static_cast<double>(of.looked_at));
    fit = {.values = std::ssize(values), .wrong = of.looked_at - of.within, .equal = of.equal};
    fit.rms = std::sqrt(of.squares / count);
    return of.is_close && of.off >= kLeastOff && of.squares_meant > 0 &&
           kLeastTimes * kLeastTimes * of.squares <= of.squares_meant && IsEverywhere(of.elements);
  }

  // Squares of all elements hide that a cause explains a row alone, and a factor of a row, or of all elements, is soon
  // hit by chance: a rounding of some constant comes near any small one.
  bool IsEverywhere(const std::vector<ExplainedElement>& explained) const {
    const Shape& shape = result_.got[result_.output].shape();
    return !IsOfFewPlaces(shape, explained) && CountBitsOfFactors(shape, explained) >= kLeastBits &&
           CountBitsOfOneFactor(explained) >= kLeastBitsOfOne;
  }

  static constexpr double kLeastBitsOfOne = 8;  // fewer than kLeastBits: f16 leaves 12 of a factor in f32
  static constexpr int64_t kLeastOff = 8;       // results that are not the rounded golden value
  SearchWork work_;                             // half of what is left
  const WrongResult& result_;
  formula::LaneEvaluator evaluator_;
  std::vector<double> got_;
};

}  // namespace

bool MakesResult(const FormulaOfResult& formula, const WrongResult& result, const Narrowing& narrowing) {
  return NarrowingSearch(formula, result).Makes(narrowing);
}

std::vector<NarrowedNode> FindNarrowedNodes(const FormulaOfResult& formula, const WrongResult& result) {
  std::vector<NarrowedNode> found;
  NarrowingSearch search(formula, result);
  for (const Narrowing& narrowing : ListNarrowings(formula.graph)) {
    if (search.IsOver()) break;
    ResultFit fit;
    const Reach reach = search.Explain(narrowing, fit);
    if (reach == Reach::kNothing) continue;
    const auto known = std::ranges::find_if(found, [&](const NarrowedNode& of) {
      return DescribeNarrowing(formula.graph, of.narrowing, "") == DescribeNarrowing(formula.graph, narrowing, "") &&
             of.narrowing.bits == narrowing.bits;
    });
    // f16 and tf32 have as many bits, and tell by their exponents alone, which e4m3 and e5m2 are always said to have.
    const bool may_be_tf32 = narrowing.bits == kBitsOfTF32 && !narrowing.format;
    const bool is_as_near = known != found.end() && fit.rms == known->fit.rms;
    if (known != found.end() && fit.rms > known->fit.rms) continue;
    const std::string format = !may_be_tf32 ? FormatText(narrowing.bits) : is_as_near ? "f16 or tf32" : "tf32";
    NarrowedNode nearer{narrowing, DescribeNarrowing(formula.graph, narrowing, format), fit, reach};
    if (known == found.end()) {
      found.push_back(std::move(nearer));
    } else if (may_be_tf32 || !is_as_near) {
      *known = std::move(nearer);
    }
  }
  std::ranges::stable_sort(found, [](const NarrowedNode& a, const NarrowedNode& b) {
    return a.reach != b.reach ? a.reach > b.reach : a.fit.rms < b.fit.rms;
  });
  std::erase_if(found, [&](const NarrowedNode& one) { return one.fit.rms > kNearlyEqual * found.front().fit.rms; });
  return found;
}

}  // namespace assay
