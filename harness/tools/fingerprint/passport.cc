// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/passport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/tools/fingerprint/arithmetic.h"
#include "harness/tools/fingerprint/norm_prediction.h"
#include "harness/tools/fingerprint/prediction.h"

namespace assay {
namespace {

// Sets `to` where the call worked; else keeps the first error.
template <class T, class To>
void Set(Result<T> from, To& to, Status& status) {
  if (from) {
    to = *std::move(from);
  } else if (status) {
    status = tl::unexpected(from.error());
  }
}

Status CompareCalls(Prober& prober, Passport& passport) {
  const int count = prober.sums().sums();
  std::set<std::string> hashes;
  const std::vector<ProbeSum> random = RandomSums(prober, count);
  for (int call = 0; call < Passport::kRepeats; ++call) {
    auto hash = prober.HashOf(random);
    if (!hash) return tl::unexpected(hash.error());
    hashes.insert(*std::move(hash));
  }
  passport.repeats = hashes.size() == 1;
  const auto equal = prober.IsEqualEverywhere(random.front());
  if (!equal) return tl::unexpected(equal.error());
  passport.place_matters = !*equal;
  return {};
}

// Sets the tree or why there is none. Errors: the backend's own.
Status FindOrder(Prober& prober, std::optional<SumTree>& tree, std::string& why_none, bool& keeps_all) {
  auto order = RevealOrder(prober);
  if (!order && order.error().code != ErrorCode::kUnsupported) return tl::unexpected(order.error());
  if (!order) {
    why_none = order.error().message;
  } else if (order->keeps_all) {
    keeps_all = true;
    why_none =
        "each two terms seem to meet first: the accumulator loses nothing of the widest numbers that the operands can "
        "make, or the order depends on the data";
  } else {
    tree = std::move(order->tree);
  }
  return {};
}

const char* NameOfKept(std::optional<bool> kept) {
  return !kept ? "not tried" : *kept ? "kept" : "flushed";
}

void FindContradictions(const Prober& prober, Passport& passport) {
  const auto contract = ParseDeclaration(passport.contract);
  if (!contract) return;
  auto& found = passport.contradictions;
  const bool nearest = passport.rounding.starts_with("to nearest");
  const double u = std::ldexp(1, (nearest ? 0 : 1) - passport.sum_bits);
  const bool is_shown = passport.sum_bits > 0 && passport.rounding != kNotShown;
  if (is_shown && u > contract->AccUnitRoundoff()) {
    found.push_back(fmt::format("sums keep {} bits, rounded {}; the contract says {}", passport.sum_bits,
                                passport.rounding, passport.contract));
  }
  // A narrow accumulator loses digits of an operand, and has subnormal numbers of its own.
  const int operand = passport.operand_precision;
  const int shown = passport.sum_bits > 0 ? std::min(operand, passport.sum_bits) : operand;
  if (contract->in == InputRounding::kExact && passport.operand_bits > 0 && passport.operand_bits < shown) {
    found.push_back(
        fmt::format("operands keep {} of {} bits; the contract does not say so", passport.operand_bits, operand));
  }
  const bool is_wide = contract->AccMinNormal() <= FormatOf(prober.problem().inputs[0].dtype).MinNormal();
  const bool in = contract->ftz == Flush::kIn || contract->ftz == Flush::kAll || !is_wide;
  const bool out = contract->ftz == Flush::kOut || contract->ftz == Flush::kAll || !is_wide;
  if (!passport.keeps_subnormal_operands.value_or(true) && !in) {
    found.emplace_back("subnormal operands are flushed; the contract does not say so");
  }
  if (!passport.keeps_subnormal_results.value_or(true) && !out) {
    found.emplace_back("subnormal results are flushed; the contract does not say so");
  }
  if (contract->batch_invariant && passport.place_matters) {
    found.emplace_back("the same sum has other bits elsewhere in the output; the contract says batchinv=yes");
  }
  if (contract->deterministic && !passport.repeats)
    found.emplace_back("calls on equal data differ in their bits; the contract says det=yes");
}

}  // namespace

Result<Passport> TakePassport(Prober& prober, Prober* variance, const std::string& implementation,
                              const std::string& contract) {
  Passport passport;
  passport.case_id = prober.problem().spec.Id();
  passport.implementation = implementation, passport.contract = contract;
  passport.has_products = prober.sums().has_products();
  passport.operand_precision = FormatOf(prober.problem().inputs[0].dtype).precision;
  if (!prober.sums().is_mean() && !prober.sums().are_squares()) {
    if (auto adds = CheckAdds(prober); !adds) return tl::unexpected(adds.error());
  }
  if (Status found = FindOrder(prober, passport.order, passport.why_no_order, passport.sums_widely); !found) {
    return tl::unexpected(found.error());
  }
  if (variance != nullptr) {
    Status found = FindOrder(*variance, passport.squares, passport.why_no_squares, passport.squares_widely);
    if (!found) return tl::unexpected(found.error());
  }
  const ProbePlaces at = ChoosePlaces(passport.order, prober.sums().terms());
  Status status;
  if (!prober.sums().takes_any_terms()) {  // no other numbers can be chosen
    Status compared = CompareCalls(prober, passport);
    if (compared && !prober.sums().are_exponentials()) compared = PredictNorm(prober, passport);
    if (!compared) return tl::unexpected(compared.error());
    if (passport.is_welford)
      passport.why_no_order = passport.why_no_squares = "it is no one tree, but Welford's updates";
    passport.executions = prober.executions() + (variance == nullptr ? 0 : variance->executions());
    FindContradictions(prober, passport);
    return passport;
  }
  if (passport.order) {
    Set(FindSumBits(prober, at), passport.sum_bits, status);
    if (status) Set(FindRounding(prober, at, passport.sum_bits), passport.rounding, status);
    if (status) Set(FindContraction(prober, at, passport.sum_bits), passport.contracts, status);
  }
  if (status) Set(FindOperandBits(prober, at), passport.operand_bits, status);
  if (status && prober.sums().is_plain()) {
    Set(KeepsSubnormalOperands(prober, at), passport.keeps_subnormal_operands, status);
    if (status) Set(KeepsSubnormalResults(prober, at), passport.keeps_subnormal_results, status);
  }
  if (status) Set(FindZero(prober), passport.zero, status);
  if (status) Set(FindOverflow(prober, at), passport.overflow, status);
  if (status) status = CompareCalls(prober, passport);
  if (status) status = Predict(prober, passport);
  if (!status) return tl::unexpected(status.error());
  passport.executions = prober.executions();
  FindContradictions(prober, passport);
  return passport;
}

namespace {

// ", of both operands, toward zero"; "" where the random sums say nothing of it.
std::string DescribeNarrowedOperands(const Passport& passport) {
  if (!passport.predicted || !passport.predicted->tells_all() || !passport.predicted->guess.narrows()) return "";
  const Passport::Guess& guess = passport.predicted->guess;
  return fmt::format(", of {}, {}",
                     guess.narrows_first && guess.narrows_second ? "both operands"
                     : guess.narrows_first                       ? "the first operand alone"
                                                                 : "the second operand alone",
                     guess.cuts_operands ? kTowardZero : kNearestEven);
}

using AddLine = std::function<void(const char*, const std::string&)>;

void AddOrder(const char* name, const std::optional<SumTree>& tree, const std::string& why_none, const AddLine& add) {
  if (!tree) return add(name, "unknown: " + why_none);
  constexpr size_t kMostText = 160;
  std::string text = TextOf(*tree);
  if (text.size() > kMostText) text = text.substr(0, kMostText) + " ...";
  add(name, fmt::format("{} ({})", DescribeSumTree(*tree), HashOf(*tree)));
  add("", text);
}

void AddArithmetic(const Passport& passport, const AddLine& add) {
  const bool at_least = passport.rounding == kNotShown;
  add("sums", passport.sum_bits == 0 ? passport.order ? "not shown by two terms" : "not known without the order"
                                     : fmt::format("keep {} bits{}, rounded {}", passport.sum_bits,
                                                   at_least ? " or more" : "", passport.rounding));
  const bool is_cut = passport.sum_bits > 0 && passport.operand_bits >= passport.sum_bits &&
                      passport.operand_bits < passport.operand_precision;
  add("operands", fmt::format("keep {} bits{}", passport.operand_bits,
                              is_cut ? " or more, which sums hide" : DescribeNarrowedOperands(passport)));
  if (passport.has_products) {
    const bool exact = 2 * passport.operand_bits <= passport.sum_bits;
    add("products", exact                 ? "exact in the sum"
                    : !passport.contracts ? "not known to be rounded or not"
                    : *passport.contracts ? "added without a rounding of their own"
                                          : "rounded before they are added");
  }
  add("subnormals", fmt::format("operands {}, results {}", NameOfKept(passport.keeps_subnormal_operands),
                                NameOfKept(passport.keeps_subnormal_results)));
  add("edges", fmt::format("the sum of -0 is {}; overflow gives {}", passport.zero, passport.overflow));
}

}  // namespace

Json ToJson(const Passport& passport) {
  Json json = {
      {"case", passport.case_id}, {"implementation", passport.implementation}, {"contract", passport.contract}};
  if (passport.order) {
    json["order"] = DescribeSumTree(*passport.order);
    json["tree"] = TextOf(*passport.order);
    json["tree_hash"] = HashOf(*passport.order);
  } else {
    json["no_order"] = passport.why_no_order;
  }
  if (passport.squares) {
    json["squares"] = DescribeSumTree(*passport.squares);
    json["squares_tree"] = TextOf(*passport.squares);
    json["squares_tree_hash"] = HashOf(*passport.squares);
  } else if (!passport.why_no_squares.empty()) {
    json["no_squares"] = passport.why_no_squares;
  }
  if (!passport.formula.empty()) json["formula"] = passport.formula;
  json["sum_bits"] = passport.sum_bits, json["rounding"] = passport.rounding;
  json["operand_bits"] = passport.operand_bits;
  json["contraction"] = passport.contracts ? Json(*passport.contracts) : Json(nullptr);
  json["subnormal_operands"] = NameOfKept(passport.keeps_subnormal_operands);
  json["subnormal_results"] = NameOfKept(passport.keeps_subnormal_results);
  json["sum_of_negative_zeros"] = passport.zero, json["overflow"] = passport.overflow;
  json["repeats"] = passport.repeats, json["place_matters"] = passport.place_matters;
  if (passport.predicted)
    json["predicted"] = {{"agree", passport.predicted->agree}, {"sums", passport.predicted->sums}};
  const std::string narrowed = DescribeNarrowedOperands(passport);
  if (!narrowed.empty()) json["operand_rounding"] = narrowed.substr(2);
  if (!passport.reordered.empty() || !passport.unexplained.empty()) {
    json["reordered"] = passport.reordered, json["unexplained"] = passport.unexplained;
  }
  json["slices"] = AxesJson(passport.slices);
  json["contradictions"] = passport.contradictions;
  json["executions"] = passport.executions;
  return json;
}

std::string TextOf(const Passport& passport) {
  std::string text = fmt::format("{}\n  implementation  {}, contract {}\n", passport.case_id, passport.implementation,
                                 passport.contract);
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<15} {}\n", name, value);
  };
  AddOrder("order", passport.order, passport.why_no_order, add);
  if (passport.squares || !passport.why_no_squares.empty()) {
    AddOrder("variance", passport.squares, passport.why_no_squares, add);
  }
  if (!passport.formula.empty()) add("formula", passport.formula);
  if (passport.operand_bits > 0) AddArithmetic(passport, add);
  add("calls", fmt::format("{} of {} give equal bits; {}", passport.repeats ? "all" : "not all", Passport::kRepeats,
                           passport.place_matters ? "the same sum has other bits elsewhere in the output"
                                                  : "the place in the output does not matter"));
  text += AxesText(passport.slices);
  if (passport.predicted) {
    add("predicted", fmt::format("{} of {} random {} to the bit, from the lines above", passport.predicted->agree,
                                 passport.predicted->sums, passport.formula.empty() ? "sums" : "rows"));
  }
  if (const size_t results = passport.reordered.size() + passport.unexplained.size(); results > 0) {
    add("of the run",
        fmt::format("{} of {} results to the bit, from the lines above", passport.reordered.size(), results));
  }
  for (const std::string& contradiction : passport.contradictions) add("CONTRADICTION", contradiction);
  return text;
}

Result<std::vector<std::string>> ComparePassports(const Json& a, const Json& b) {
  const auto by_name = [](const Json& document) -> Result<std::map<std::string, Json>> {
    if (!document.is_object() || !document.contains("passports") || !document["passports"].is_array()) {
      return UsageError("no list of passports is in it; give files that assay fingerprint --json printed");
    }
    std::map<std::string, Json> found;
    std::map<std::string, int> seen;
    for (const Json& passport : document["passports"]) {
      if (!passport.is_object() || !passport.contains("case") || !passport["case"].is_string() ||
          !passport.contains("implementation") || !passport["implementation"].is_string()) {
        return UsageError(
            "a passport without case or implementation is in it; give files that assay fingerprint --json printed");
      }
      // Backends and devices may have implementations of one name: the first of one file beside that of the other.
      const std::string name =
          passport["case"].get<std::string>() + " " + passport["implementation"].get<std::string>();
      const int number = ++seen[name];
      found[number == 1 ? name : fmt::format("{} ({})", name, number)] = passport;
    }
    return found;
  };
  const auto first = by_name(a), second = by_name(b);
  if (!first) return tl::unexpected(first.error());
  if (!second) return tl::unexpected(second.error());
  std::vector<std::string> lines;
  for (const auto& [name, passport] : *first) {
    const auto other = second->find(name);
    if (other == second->end()) {
      lines.push_back(name + ": only in the first");
      continue;
    }
    for (const auto& [field, value] : passport.items()) {
      if (field == "executions" || field == "tree" || field == "squares_tree" || field == "reordered" ||
          field == "unexplained")
        continue;  // its hash says it
      const Json there = other->second.contains(field) ? other->second[field] : Json(nullptr);
      if (value != there) lines.push_back(fmt::format("{}: {} {} -> {}", name, field, value.dump(), there.dump()));
    }
  }
  for (const auto& [name, passport] : *second) {
    if (!first->contains(name)) lines.push_back(name + ": only in the second");
  }
  return lines;
}

}  // namespace assay
