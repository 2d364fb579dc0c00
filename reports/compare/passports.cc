// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/passports.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace assay {
namespace {

// Each of these may move bits though the order stays.
constexpr const char* kArithmeticFields[] = {"sum_bits",    "rounding",           "operand_bits",
                                             "contraction", "subnormal_operands", "subnormal_results",
                                             "overflow",    "place_matters",      "formula"};

std::string FieldText(const Json& document, const char* field) {
  const auto it = document.find(field);
  if (it == document.end()) return "";
  return it->is_string() ? it->get<std::string>() : it->dump();
}

std::string PassportKey(const std::string& problem, const std::string& backend, const std::string& device,
                        const std::string& implementation) {
  return fmt::format("{} {} {} {}", problem, backend, implementation, device);
}

bool TellsAll(const Json& passport) {
  const auto predicted = passport.find("predicted");
  return FieldText(passport, "repeats") == "true" && predicted != passport.end() && predicted->is_object() &&
         FieldText(*predicted, "agree") == FieldText(*predicted, "sums");
}

}  // namespace

std::string ProblemKey(const std::string& case_id) {
  return case_id.substr(0, case_id.find("/fill="));
}

Result<RunPassports> RunPassports::Read(const Json& document) {
  if (!document.is_object() || !document.contains("passports") || !document["passports"].is_array()) {
    return UsageError("no list of passports is in it; write it anew with assay fingerprint --run");
  }
  RunPassports run;
  for (const Json& passport : document["passports"]) {
    if (!passport.is_object() || FieldText(passport, "tree_hash").empty()) continue;
    // A norm that subtracts a mean has two sums.
    const std::string squares = FieldText(passport, "squares_tree_hash");
    SumPassport read{.tree_hash = FieldText(passport, "tree_hash") + (squares.empty() ? "" : "/" + squares),
                     .order = FieldText(passport, "order") +
                              (squares.empty() ? "" : "; of the variance " + FieldText(passport, "squares")),
                     .arithmetic = {},
                     .library = FieldText(passport, "library"),
                     .tells_all = TellsAll(passport)};
    for (const char* field : kArithmeticFields) read.arithmetic[field] = FieldText(passport, field);
    run.passports_.insert_or_assign(PassportKey(ProblemKey(FieldText(passport, "case")), FieldText(passport, "backend"),
                                                FieldText(passport, "device"), FieldText(passport, "implementation")),
                                    std::move(read));
  }
  return run;
}

const SumPassport* RunPassports::Find(const Record& r) const {
  const auto found = passports_.find(PassportKey(ProblemKey(r.case_id), r.backend, r.device, r.implementation));
  return found == passports_.end() || found->second.library != r.library_version ? nullptr : &found->second;
}

BitsExplanation ExplainOtherBits(const SumPassport& base, const SumPassport& now) {
  std::string differences;
  for (const auto& [field, value] : base.arithmetic) {
    const std::string& other = now.arithmetic.at(field);
    if (value != other)
      differences += fmt::format("{}{} {} -> {}", differences.empty() ? "" : ", ", field, value, other);
  }
  const bool is_reordered = base.tree_hash != now.tree_hash;
  const std::string order = is_reordered ? fmt::format("other order: {} ({}) -> {} ({})", base.tree_hash, base.order,
                                                       now.tree_hash, now.order)
                                         : "same order: " + base.tree_hash;
  if (!differences.empty()) return {false, fmt::format("other arithmetic: {}; {}", differences, order)};
  if (!is_reordered) return {false, "same arithmetic, " + order + "; something else moves the bits"};
  if (base.tells_all && now.tells_all) return {true, "same arithmetic, " + order};
  return {false, "the passports do not predict all sums, and tell of " + order};
}

}  // namespace assay
