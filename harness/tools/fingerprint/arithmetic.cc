// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace assay {
namespace {

const FloatFormat& OperandFormat(const Prober& prober) {
  return FormatOf(prober.problem().inputs[prober.sums().has_products() ? 0 : prober.problem().inputs.size() - 1].dtype);
}
const FloatFormat& OutputFormat(const Prober& prober) {
  return FormatOf(prober.problem().outputs[0].dtype);
}

ProbeSum Zeros(const Prober& prober) {
  return ProbeSum(static_cast<size_t>(prober.sums().terms()));
}

// x as a term: where the operands' type is too narrow for it, as a product of two halves.
std::optional<ProbeTerm> TermOf(const Prober& prober, double x) {
  const FloatFormat& in = OperandFormat(prober);
  if (RoundTo(in, x) == x && (x == 0 || std::fabs(x) >= in.MinNormal())) return ProbeTerm{x};
  if (!prober.sums().has_products()) return RoundTo(in, x) == x ? std::optional(ProbeTerm{x}) : std::nullopt;
  const double b = std::ldexp(1, std::ilogb(x) / 2);
  if (RoundTo(in, x / b) != x / b || RoundTo(in, b) != b) return std::nullopt;
  return ProbeTerm{x / b, b};
}

// The sums of these terms at i, j and k; nothing where the operands cannot hold one.
Result<std::optional<std::vector<double>>> Sums(Prober& prober, const ProbePlaces& at,
                                                const std::vector<std::array<double, 3>>& terms) {
  std::vector<ProbeSum> sums;
  for (const auto& three : terms) {
    sums.push_back(Zeros(prober));
    const int places[] = {at.i, at.j, at.k};
    for (int t = 0; t < std::min(3, prober.sums().terms()); ++t) {
      const auto term = TermOf(prober, three[t]);
      if (!term) return std::nullopt;
      sums.back()[places[t]] = *term;
    }
  }
  auto results = prober.Execute(sums);
  if (!results) return tl::unexpected(results.error());
  return std::optional(*std::move(results));
}

// Finds the smallest subtree of two terms and more whose children hold other than single sums.
const SumTree* Smallest(const SumTree& tree) {
  const SumTree* found = tree.children.empty() ? nullptr : &tree;
  for (const SumTree& child : tree.children) {
    const SumTree* below = Smallest(child);
    if (below != nullptr && below->terms < found->terms) found = below;
  }
  return found;
}

void CollectTerms(const SumTree& tree, std::vector<bool>& has) {
  if (tree.children.empty()) has[tree.term] = true;
  for (const SumTree& child : tree.children) CollectTerms(child, has);
}

}  // namespace

ProbePlaces ChoosePlaces(const std::optional<SumTree>& order, int terms) {
  const SumTree* pair = order ? Smallest(*order) : nullptr;
  if (pair == nullptr) return {};
  if (pair->children.size() > 2) return {pair->children[0].term, pair->children[1].term, pair->children[2].term};
  std::vector<bool> below(static_cast<size_t>(terms), false);
  CollectTerms(*pair, below);
  ProbePlaces places{pair->children[0].term, pair->children[1].term, terms - 1};
  for (int k = 0; k < terms; ++k) {
    if (!below[k]) return {places.i, places.j, k};
  }
  for (int k = terms - 1; k == places.i || k == places.j; --k) places.k = k - 1;
  return places;
}

Status CheckAdds(Prober& prober) {
  const int terms = prober.sums().terms();
  const std::pair<int, int> places[] = {{0, 0}, {terms - 1, terms - 1}, {0, terms / 2}, {terms / 2, terms - 1}};
  for (const auto& [i, j] : places) {
    ProbeSum sum = Zeros(prober);
    sum[i].a = sum[j].a = 1;
    const auto result = prober.Execute(sum);
    if (!result) return tl::unexpected(result.error());
    const int ones = i == j ? 1 : 2;
    const double tolerance = prober.sums().are_exponentials() ? 1e-3 : 0;  // some are read by their logarithm
    if (std::fabs(*result - ones) <= tolerance) continue;
    return Fail(ErrorCode::kUnsupported,
                fmt::format("it is no sum of these terms: {} of them 1 and the others 0 came back as {:g}; assay run "
                            "--case {} judges it",
                            ones, *result, prober.problem().spec.Id()));
  }
  return {};
}

Result<int> FindSumBits(Prober& prober, const ProbePlaces& at) {
  constexpr int kMostBits = 120;
  int bits = 0;
  for (int e = 1; e < kMostBits; ++e) {
    const auto sums = Sums(prober, at, {{1, std::ldexp(1, -e), -1}});
    if (!sums) return tl::unexpected(sums.error());
    if (!*sums || RoundTo(OutputFormat(prober), std::ldexp(1, -e)) == 0) break;
    if ((**sums)[0] != std::ldexp(1, -e)) break;
    bits = e + 1;
  }
  return bits;
}

Result<std::string> FindRounding(Prober& prober, const ProbePlaces& at, int bits) {
  // The search for bits may have ended at the smallest number of the output's type.
  if (RoundTo(OutputFormat(prober), std::ldexp(1, -bits)) == 0) return std::string(kNotShown);
  const double ulp = std::ldexp(1, 1 - bits);
  const auto sums =
      Sums(prober, at,
           {{1, 0.25 * ulp, -1}, {1, 0.5 * ulp, -1}, {1, 0.75 * ulp, -1}, {-1, -0.25 * ulp, 1}, {-1, -0.75 * ulp, 1}});
  if (!sums) return tl::unexpected(sums.error());
  if (bits == 0 || !*sums) return std::string(kNotShown);
  std::string code;  // of each: kept down or up
  for (const double sum : **sums) code += std::fabs(sum) == ulp ? '1' : sum == 0 ? '0' : '?';
  const std::pair<const char*, const char*> known[] = {{"00101", kNearestEven},
                                                       {"01101", "to nearest, away from zero"},
                                                       {"00000", kTowardZero},
                                                       {"11100", "up"},
                                                       {"00011", "down"}};
  for (const auto& [of, name] : known) {
    if (code == of) return std::string(name);
  }
  return std::string("otherwise");
}

Result<int> FindOperandBits(Prober& prober, const ProbePlaces& at) {
  const int most = OperandFormat(prober).precision;
  int bits = 1;
  for (int e = 1; e < most; ++e) {
    // Each factor by itself: a unit may round one operand alone.
    const double part = std::ldexp(1, -e), x = 1 + part;
    std::vector<ProbeSum> sums(prober.sums().has_products() ? 2 : 1, Zeros(prober));
    for (ProbeSum& sum : sums) sum[at.j] = {-1};
    sums.front()[at.i] = {x};
    if (prober.sums().has_products()) sums.back()[at.i] = {1, x};
    const auto results = prober.Execute(sums);
    if (!results) return tl::unexpected(results.error());
    if (std::ranges::any_of(*results, [&](double result) { return result != part; })) break;
    bits = e + 1;
  }
  return bits;
}

Result<std::optional<bool>> FindContraction(Prober& prober, const ProbePlaces& at, int bits) {
  const FloatFormat& in = OperandFormat(prober);
  if (!prober.sums().has_products() || bits < in.precision || bits >= 2 * in.precision) return std::nullopt;
  // The square's last bit is lost where it is rounded; whichever of the two terms is added second shows it.
  const double e = std::ldexp(1, -((in.precision + 1) / 2));
  std::vector<ProbeSum> sums;
  for (const auto& [square, rest] : {std::pair(at.i, at.j), std::pair(at.j, at.i)}) {
    sums.push_back(Zeros(prober));
    sums.back()[square] = {1 + e, 1 + e};
    sums.back()[rest] = {-(1 + 2 * e), 1};
  }
  const auto results = prober.Execute(sums);
  if (!results) return tl::unexpected(results.error());
  return std::optional((*results)[0] == e * e || (*results)[1] == e * e);
}

Result<bool> KeepsSubnormalOperands(Prober& prober, const ProbePlaces& at) {
  // The result is normal, so that only the operand can be lost.
  const double normal = std::max(OperandFormat(prober).MinNormal(), OutputFormat(prober).MinNormal());
  const double x = OperandFormat(prober).MinNormal() / 2;
  ProbeSum sum = Zeros(prober);
  sum[at.i].a = x;
  if (prober.sums().has_products()) sum[at.i].b = 16;
  sum[at.j].a = normal;
  const auto result = prober.Execute(sum);
  if (!result) return tl::unexpected(result.error());
  return *result == sum[at.i].value() + normal;
}

Result<bool> KeepsSubnormalResults(Prober& prober, const ProbePlaces& at) {
  const double least = std::max(OperandFormat(prober).MinNormal(), OutputFormat(prober).MinNormal());
  ProbeSum sum = Zeros(prober);
  sum[at.i].a = 1.5 * least, sum[at.j].a = -least;
  const auto result = prober.Execute(sum);
  if (!result) return tl::unexpected(result.error());
  return *result == 0.5 * least;
}

Result<std::string> FindZero(Prober& prober) {
  ProbeSum sum(static_cast<size_t>(prober.sums().terms()), {-0.0, 1});
  const auto result = prober.Execute(sum);
  if (!result) return tl::unexpected(result.error());
  return std::string(*result != 0 ? "no zero" : std::signbit(*result) ? "-0" : "+0");
}

Result<std::string> FindOverflow(Prober& prober, const ProbePlaces& at) {
  ProbeSum sum = Zeros(prober);
  sum[at.i].a = sum[at.j].a = OperandFormat(prober).max_finite;
  const auto result = prober.Execute(sum);
  if (!result) return tl::unexpected(result.error());
  if (std::isfinite(*result)) {
    const bool doubled = *result == 2 * sum[at.i].a;
    return std::string(doubled ? "none: the output's type holds it" : "the largest number");
  }
  return std::string(std::isnan(*result) ? "NaN" : "infinity");
}

}  // namespace assay
