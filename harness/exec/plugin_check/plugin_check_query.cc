// SPDX-License-Identifier: Apache-2.0
// Checks what a plugin offers and how it declines.
#include <set>

#include "harness/core/base/amounts.h"
#include "harness/core/model/contract.h"
#include "harness/exec/plugin_check/plugin_check_operands.h"
#include "harness/exec/plugin_names.h"
#include "harness/exec/worker/found_implementations.h"

namespace assay::plugin_check {
namespace {

// "" or what is wrong with an implementation.
std::string ProblemOf(const CheckedOffer::Implementation& implementation, std::set<std::string>& names) {
  const std::string& name = implementation.name;
  if (name.empty() || implementation.contract.empty()) return "a name or a contract is NULL or empty";
  if (!IsImplementationName(name) || name.size() > kMaxNameBytes) {
    return fmt::format("'{}' is not a valid name; use lower case letters, digits, '-', '_', '.'", name);
  }
  if (!names.insert(name).second) return fmt::format("'{}' is listed twice", name);
  const auto contract = ParseDeclaration(implementation.contract);
  return contract ? "" : fmt::format("the contract of '{}': {}", name, contract.error().message);
}

}  // namespace

Answer Ask(const PluginUnderTest& plugin, const assay_op_desc& op) {
  FoundImplementations found(*plugin.api, plugin.device);
  Answer answer;
  ErrorText error;
  answer.status = found.Query(op, error);
  answer.reason = error.str();
  if (answer.status == ASSAY_OK && found.Problem().empty()) answer.count = found.items().size();
  return answer;
}

Finding IsDeclined(const Answer& answer, const std::string& what) {
  if (answer.status == ASSAY_OK) {
    return Bad("query of {} is ASSAY_OK; check all that the description holds and return ASSAY_UNSUPPORTED", what);
  }
  if (answer.status != ASSAY_UNSUPPORTED) {
    return Bad("query of {} returned status {}; return ASSAY_UNSUPPORTED ({}), which is no error", what, answer.status,
               ASSAY_UNSUPPORTED);
  }
  if (answer.reason.empty()) return Bad("query of {} gives no reason; write one into the text", what);
  return Good("\"{}\"", answer.reason);
}

Finding UnknownOperator(PluginUnderTest& plugin) {
  assay_op_desc op{};
  op.struct_size = sizeof op;
  op.op = "assay-unknown-operator";
  return IsDeclined(Ask(plugin, op), "an unknown operator");
}

Finding UnknownType(PluginUnderTest& plugin) {
  constexpr uint8_t kUnknownCode = 200;
  Finding finding = Good("");
  for (const CheckedOffer& offer : plugin.offers) {
    DescriptionCopy copy(offer.op->get(), DescriptionCopy::Caller::kSame);
    copy.output().type_code = kUnknownCode;
    finding = IsDeclined(Ask(plugin, copy.op()), offer.name + " with an output of an unknown type");
    if (finding.kind != Finding::Kind::kOk) return finding;
  }
  return finding;
}

Finding UnknownAttribute(PluginUnderTest& plugin) {
  for (const CheckedOffer& offer : plugin.offers) {
    DescriptionCopy required(offer.op->get(), DescriptionCopy::Caller::kSame);
    required.AddAttr("assay_unknown_attribute", 0, 0);
    const std::string what = offer.name + " with the attribute assay_unknown_attribute";
    if (Finding f = IsDeclined(Ask(plugin, required.op()), what); f.kind != Finding::Kind::kOk) return f;
    DescriptionCopy optional(offer.op->get(), DescriptionCopy::Caller::kSame);
    optional.AddAttr("assay_unknown_attribute", 0, ASSAY_ATTR_OPTIONAL);
    if (const Answer answer = Ask(plugin, optional.op()); answer.status != ASSAY_OK) {
      return Bad(
          "query of {} with an unknown attribute that is flagged ASSAY_ATTR_OPTIONAL returned status {} ({}); ignore "
          "such an attribute",
          offer.name, answer.status, answer.reason);
    }
  }
  return Good("declined; ignored where it is optional");
}

Finding NewerDescription(PluginUnderTest& plugin) {
  for (const CheckedOffer& offer : plugin.offers) {
    DescriptionCopy copy(offer.op->get(), DescriptionCopy::Caller::kNewer);
    const Answer answer = Ask(plugin, copy.op());
    if (answer.status != ASSAY_OK) {
      return Bad(
          "query of {} in structs of a larger struct_size returned status {} ({}); compare with ASSAY_HAS, not "
          "with sizeof",
          offer.name, answer.status, answer.reason);
    }
    if (answer.count != offer.implementations.size()) {
      return Bad("query of {} lists {} implementations, and {} in structs of a larger struct_size", offer.name,
                 offer.implementations.size(), answer.count);
    }
  }
  return Good("{}", Counted(std::ssize(plugin.offers), "operator"));
}

Finding Implementations(PluginUnderTest& plugin) {
  std::string all;
  for (const CheckedOffer& offer : plugin.offers) {
    std::set<std::string> names;
    for (const CheckedOffer::Implementation& implementation : offer.implementations) {
      const std::string problem = ProblemOf(implementation, names);
      if (!problem.empty()) return Bad("{}: {}", offer.name, problem);
    }
    all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", offer.name, fmt::join(names, " "));
  }
  return Good("{}", all);
}

// Two lists at a time, and the names of the second after the first has ended.
Finding QueryFree(PluginUnderTest& plugin) {
  for (const CheckedOffer& offer : plugin.offers) {
    FoundImplementations second(*plugin.api, plugin.device);
    ErrorText error;
    {
      FoundImplementations first(*plugin.api, plugin.device);
      for (FoundImplementations* list : {&first, &second}) {
        const assay_status status = list->Query(offer.op->get(), error);
        if (status != ASSAY_OK) return Bad("{}: {}", offer.name, DescribeStatus("query", status, error));
        if (const std::string what = list->Problem(); !what.empty()) return Bad("query of {}: {}", offer.name, what);
      }
    }
    if (second.items().size() != offer.implementations.size()) {
      return Bad("query of {} listed {} implementations, and {} later", offer.name, offer.implementations.size(),
                 second.items().size());
    }
    for (size_t i = 0; i < second.items().size(); ++i) {
      const char* name = second.items()[i]->name;
      if (name != nullptr && name == offer.implementations[i].name) continue;
      return Bad("query of {}: a list changed when query_free ended another; let each have memory of its own",
                 offer.name);
    }
  }
  return Good("two lists at a time");
}

}  // namespace assay::plugin_check
