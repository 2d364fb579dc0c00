// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/prediction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "harness/core/data/fill/rng.h"
#include "harness/tools/fingerprint/arithmetic.h"

namespace assay {
namespace {

constexpr int kPredictedSums = 1024;
constexpr uint64_t kSeed = 1;

// Adds as a passport says, in formats whose sums of two numbers a double holds well enough to round once more. Several
// numbers at once are cut below the last bit that the largest of them keeps, as matrix units do.
class Predicting {
 public:
  Predicting(const Passport& passport, const Passport::Guess& guess, const FloatFormat& out)
      : tree_(*passport.order), guess_(guess), out_(out), acc_(FormatOf(DType::kF32)) {
    bits_at_once_ = passport.sum_bits;
    cuts_ = passport.rounding == kTowardZero;
    if (passport.sum_bits == FormatOf(DType::kF64).precision) acc_ = FormatOf(DType::kF64);
    if (passport.sum_bits < acc_.precision && WidestNode(tree_) == 2) acc_.precision = passport.sum_bits;
    operand_bits_ = passport.operand_bits;
  }

  double Sum(const ProbeSum& given) const {
    ProbeSum terms = given;
    for (ProbeTerm& term : terms) {
      if (guess_.narrows_first) term.a = Narrow(term.a);
      if (guess_.narrows_second) term.b = Narrow(term.b);
    }
    const double sum = SumInOrder(
        tree_, [&](int term) { return Round(terms[term].value()); },
        [&](const SumTree& node, std::span<const double> sums) { return Add(node, sums, terms); });
    return RoundTo(out_, sum);
  }

 private:
  double Round(double x) const { return Round(x, cuts_ && WidestNode(tree_) == 2); }
  double Round(double x, bool cuts) const {
    const double nearest = RoundTo(acc_, x);
    if (!cuts || std::fabs(nearest) <= std::fabs(x)) return nearest;
    return Cut(x, std::ilogb(x) + 1 - acc_.precision);
  }
  // Without its bits below 2^exponent.
  static double Cut(double x, int exponent) { return std::ldexp(std::trunc(std::ldexp(x, -exponent)), exponent); }
  double Narrow(double x) const {
    if (x == 0) return x;
    const int last = std::ilogb(x) + 1 - operand_bits_;
    return guess_.cuts_operands ? Cut(x, last) : std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
  }
  bool IsDouble() const { return acc_.precision == FormatOf(DType::kF64).precision; }

  double Add(const SumTree& node, std::span<const double> sums, const ProbeSum& terms) const {
    const bool has_term =
        std::ranges::any_of(node.children, [](const SumTree& child) { return child.children.empty(); });
    if (node.children.size() > 2 || (guess_.aligns_pairs && has_term)) return AddAtOnce(node, sums, terms);
    // The product that comes last is added with its own digits.
    const SumTree& last = node.children.back();
    if (guess_.contracts && (last.children.empty() || node.children[0].children.empty())) {
      const bool is_last = last.children.empty();
      const ProbeTerm& term = terms[is_last ? last.term : node.children[0].term];
      const double other = sums[is_last ? 0 : 1];
      return IsDouble() ? std::fma(term.a, term.b, other) : Round(SumOf(term.value(), other));
    }
    return IsDouble() ? sums[0] + sums[1] : Round(SumOf(sums[0], sums[1]));
  }

  double AddAtOnce(const SumTree& node, std::span<const double> sums, const ProbeSum& terms) const {
    std::vector<double> addends;
    double most = 0;
    for (size_t c = 0; c < sums.size(); ++c) {
      const SumTree& child = node.children[c];
      addends.push_back(child.children.empty() ? terms[child.term].value() : sums[c]);
      most = std::max(most, std::fabs(addends.back()));
    }
    double sum = 0;
    for (const double x : addends) sum += cuts_ && most > 0 ? Cut(x, std::ilogb(most) + 1 - bits_at_once_) : x;
    return Round(sum, guess_.cuts_sums);
  }

  // x + y rounded to odd, so that rounding it once more gives the nearest to the exact sum.
  static double SumOf(double x, double y) {
    const double sum = x + y, part = sum - x, error = (x - (sum - part)) + (y - part);
    if (error == 0 || !std::isfinite(sum) || (std::bit_cast<uint64_t>(sum) & 1) != 0) return sum;
    return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
  }

  const SumTree& tree_;
  Passport::Guess guess_;
  const FloatFormat& out_;
  FloatFormat acc_;
  int bits_at_once_ = 0, operand_bits_ = 0;
  bool cuts_ = false;
};

}  // namespace

std::vector<ProbeSum> RandomSums(const Prober& prober, int count) {
  const RandomStream random(kSeed, 0);
  uint64_t next = 0;
  const FloatFormat& in = FormatOf(prober.problem().inputs[0].dtype);
  const auto draw = [&] { return RoundTo(in, random.Normal(next++)); };
  std::vector<ProbeSum> sums;
  for (int s = 0; s < count; ++s) {
    sums.emplace_back(static_cast<size_t>(prober.sums().terms()));
    for (ProbeTerm& term : sums.back()) {
      term.a = draw();
      if (prober.sums().has_products()) term.b = draw();
    }
  }
  return sums;
}

double PredictSum(const Passport& passport, const ProbeSum& terms, DType out) {
  return Predicting(passport, passport.predicted->guess, FormatOf(out)).Sum(terms);
}

namespace {

std::vector<Passport::Guess> ListGuesses(const Passport& passport) {
  const bool narrows = passport.has_products && passport.operand_bits > 0 &&
                       passport.operand_bits < std::min(passport.operand_precision, passport.sum_bits);
  std::vector<Passport::Guess> guesses;
  for (const bool contracts : {true, false}) {
    if (contracts != passport.contracts.value_or(contracts)) continue;
    for (const bool cuts_sums : {false, true}) {
      guesses.push_back({.contracts = contracts, .cuts_sums = cuts_sums});
      if (WidestNode(*passport.order) > 2) {
        guesses.push_back({.contracts = contracts, .cuts_sums = cuts_sums, .aligns_pairs = true});
      }
      for (const auto& [first, second] : {std::pair{true, true}, {true, false}, {false, true}}) {
        for (const bool cuts : {false, true}) {
          if (narrows) guesses.push_back({contracts, cuts_sums, first, second, cuts});
        }
      }
    }
  }
  return guesses;
}

}  // namespace

Status Predict(Prober& prober, Passport& passport) {
  const bool is_known = passport.rounding == kNearestEven || passport.rounding == kTowardZero;
  if (!passport.order || !is_known || !prober.sums().is_plain()) return {};
  const std::vector<ProbeSum> sums = RandomSums(prober, kPredictedSums);
  const auto results = prober.Execute(sums);
  if (!results) return tl::unexpected(results.error());
  Passport::Prediction prediction{0, static_cast<int>(sums.size()), {}};
  for (const Passport::Guess& guess : ListGuesses(passport)) {
    const Predicting by(passport, guess, FormatOf(prober.problem().outputs[0].dtype));
    int agree = 0;
    for (size_t s = 0; s < sums.size(); ++s) agree += by.Sum(sums[s]) == (*results)[s] ? 1 : 0;
    if (agree > prediction.agree) prediction.agree = agree, prediction.guess = guess;
  }
  passport.predicted = prediction;
  return {};
}

}  // namespace assay
