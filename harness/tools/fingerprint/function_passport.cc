// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/function_passport.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "golden/element.h"
#include "harness/engine/cases/prepared_case.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

constexpr int64_t kMostInputs = int64_t{1} << 22;

// Numbers of a type in ascending order, as many negative as positive ones: all of a 16-bit type, else as many of each
// power of two. Infinities are among them; a NaN comes last.
std::vector<double> Inputs(DType type) {
  const int64_t half = FunctionInputs(type) / 2;
  const int bits = 8 * SizeOf(type) - 1 - std::bit_width(static_cast<uint64_t>(half) - 1);  // between neighbours
  std::vector<double> positive;
  Tensor number(type, {1});
  for (int64_t i = 0; i < half; ++i) {
    // At even distances, so that each power of two has as many; every other one with digits at the end.
    const uint64_t digits = i % 2 == 0 || bits == 0 ? 0 : static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15 >> (64 - bits);
    const uint64_t pattern = static_cast<uint64_t>(i) << bits | digits;
    std::memcpy(number.data(), &pattern, static_cast<size_t>(SizeOf(type)));  // little-endian
    const double x = number.ToDoubles().front();
    if (!std::isnan(x)) positive.push_back(x);
  }
  std::vector<double> all;
  for (size_t i = positive.size(); i-- > 0;) all.push_back(-positive[i]);
  all.insert(all.end(), positive.begin(), positive.end());
  all.resize(static_cast<size_t>(2 * half), std::numeric_limits<double>::quiet_NaN());
  return all;
}

struct Element {
  double x, exact, got;
  double rest = 0;   // of the golden value, where it has more digits than a double
  double error = 0;  // its own, which near underflow is as large as an ulp
};

class Measuring {
 public:
  Measuring(FunctionPassport& passport, DType in, DType out) : to_(passport), in_(FormatOf(in)), out_(FormatOf(out)) {}

  void Add(const Element& e) {
    const double rounded = RoundTo(out_, e.exact);
    if (!std::isfinite(rounded) || !std::isfinite(e.got)) {
      const bool same = std::isnan(rounded) ? std::isnan(e.got) : rounded == e.got;
      if (!same && to_.wrong_specials++ == 0) to_.first_special = e.x;
      return;
    }
    ++finite_;
    correct_ += e.got == rounded ? 1 : 0;
    const double ulp = std::max(0.0, std::fabs((e.got - e.exact) - e.rest) - e.error) / UlpAt(out_, e.exact);
    const bool normal = std::fabs(e.x) >= in_.MinNormal() && std::fabs(e.exact) >= out_.MinNormal();
    if (!normal) {
      to_.most_subnormal_ulp = std::max(to_.most_subnormal_ulp, ulp);
    } else if (ulp > to_.most_ulp) {
      to_.most_ulp = ulp, to_.worst_input = e.x;
    }
  }
  void AddNeighbours(const Element& a, const Element& b) {
    to_.turns += (b.exact > a.exact && b.got < a.got) || (b.exact < a.exact && b.got > a.got) ? 1 : 0;
  }
  void Finish() {
    to_.finite = finite_;
    to_.correctly_rounded = finite_ > 0 ? static_cast<double>(correct_) / static_cast<double>(finite_) : 0;
  }

 private:
  FunctionPassport& to_;
  const FloatFormat &in_, &out_;
  int64_t finite_ = 0, correct_ = 0;
};

bool SameOrNan(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Element i and the one of the other sign.
void FindSymmetry(const std::vector<Element>& elements, int64_t numbers, FunctionPassport& passport) {
  int64_t odd = 0, even = 0, not_odd = 0, not_even = 0;
  for (int64_t i = 0; i < numbers / 2; ++i) {
    const Element &a = elements[i], &b = elements[numbers - 1 - i];
    odd += SameOrNan(a.exact, -b.exact) ? 1 : 0, even += SameOrNan(a.exact, b.exact) ? 1 : 0;
    not_odd += SameOrNan(a.got, -b.got) ? 0 : 1, not_even += SameOrNan(a.got, b.got) ? 0 : 1;
  }
  if (odd == numbers / 2) passport.symmetry = "odd", passport.asymmetries = not_odd;
  if (even == numbers / 2) passport.symmetry = "even", passport.asymmetries = not_even;
}

}  // namespace

int64_t FunctionInputs(DType type) {
  return SizeOf(type) == 2 ? int64_t{1} << 16 : kMostInputs;
}

bool IsFunction(const BoundCase& bound) {
  const Problem& problem = bound.problem;
  return problem.inputs.size() == 1 && problem.outputs.size() == 1 && problem.inputs[0].shape.size() == 1 &&
         problem.inputs[0].shape == problem.outputs[0].shape && IsFloat(problem.inputs[0].dtype) &&
         IsFloat(problem.outputs[0].dtype) && problem.inputs[0].shape[0] == FunctionInputs(problem.inputs[0].dtype) &&
         !ListSliceableAxes(*bound.op, problem).empty();
}

Result<FunctionPassport> TakeFunctionPassport(const BoundCase& bound, const PreparedPlan& plan,
                                              const std::string& implementation, const std::string& contract) {
  const Problem& problem = bound.problem;
  const DType in = problem.inputs[0].dtype, out = problem.outputs[0].dtype;
  const std::vector<double> x = Inputs(in);
  std::vector<Tensor> inputs;
  inputs.emplace_back(in, problem.inputs[0].shape);
  inputs[0].SetDoubles(x);
  const auto execution = plan.Execute(inputs, Prefill::kNanPayload);
  if (!execution) return Fail(ErrorCode::kUnavailable, execution.error().message);
  const std::vector<double> got = execution->outputs.front().ToDoubles();
  const Golden golden = bound.op->ComputeGolden(problem, 0, inputs, ChooseTier("auto", problem));
  FunctionPassport passport;
  passport.case_id = problem.spec.Id(), passport.implementation = implementation, passport.contract = contract;
  passport.inputs = std::ssize(x);
  Measuring measuring(passport, in, out);
  std::vector<Element> elements;
  for (size_t i = 0; i < x.size(); ++i) {
    elements.push_back({x[i], golden.value[i], got[i], golden.value_lo.empty() ? 0 : golden.value_lo[i],
                        PlaneAt(golden.error, static_cast<int64_t>(i), golden.size())});
  }
  for (size_t i = 0; i < x.size(); ++i) {
    measuring.Add(elements[i]);
    if (i > 0) measuring.AddNeighbours(elements[i - 1], elements[i]);
  }
  measuring.Finish();
  FindSymmetry(elements, std::ranges::count_if(x, [](double v) { return !std::isnan(v); }), passport);
  return passport;
}

Json ToJson(const FunctionPassport& p) {
  return {{"case", p.case_id},
          {"implementation", p.implementation},
          {"contract", p.contract},
          {"inputs", p.inputs},
          {"max_ulp", p.most_ulp},
          {"worst_input", p.worst_input},
          {"max_subnormal_ulp", p.most_subnormal_ulp},
          {"correctly_rounded", p.correctly_rounded},
          {"wrong_specials", p.wrong_specials},
          {"wrong_order", p.turns},
          {"symmetry", p.symmetry},
          {"asymmetric", p.asymmetries}};
}

std::string TextOf(const FunctionPassport& p) {
  std::string text = fmt::format("{}\n  implementation  {}, contract {}\n", p.case_id, p.implementation, p.contract);
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<15} {}\n", name, value);
  };
  const std::string share = p.correctly_rounded == 1 ? "all" : fmt::format("{:.4f} %", 100 * p.correctly_rounded);
  add("accuracy", p.finite == 0 ? "no result is finite where it should be"
                                : fmt::format("{:.3f} ulp at most, at x = {:g}; {} of {} results are correctly rounded",
                                              p.most_ulp, p.worst_input, share, p.inputs));
  add("subnormals", fmt::format("{:.3g} ulp at most, in or out", p.most_subnormal_ulp));
  add("inf and NaN", p.wrong_specials == 0
                         ? "where they should be"
                         : fmt::format("{} are wrong, first at x = {:g}", p.wrong_specials, p.first_special));
  add("order", fmt::format("{} neighbours in the wrong one", p.turns));
  if (!p.symmetry.empty()) add("symmetry", fmt::format("{}, broken by {} pairs", p.symmetry, p.asymmetries));
  return text;
}

}  // namespace assay
