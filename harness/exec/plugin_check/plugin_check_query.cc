// SPDX-License-Identifier: Apache-2.0
// What a plugin says that it offers, and how it declines.
#include <algorithm>
#include <set>

#include "harness/exec/plugin_check/plugin_check_operands.h"
#include "harness/exec/plugin_names.h"
#include "harness/model/contract.h"

namespace assay::plugin_check {
namespace {

struct Answer {
  assay_status status = ASSAY_OK;
  uint64_t count = 0;
  std::string reason;
};

Answer Ask(const PluginUnderTest& plugin, const assay_op_desc& op) {
  std::vector<const assay_implementation*> found(kMaxImplementations, nullptr);
  Answer answer;
  answer.count = found.size();
  ErrorText error;
  answer.status = plugin.api->query(plugin.device, &op, found.data(), &answer.count, error.out());
  answer.reason = error.str();
  return answer;
}

// ASSAY_UNSUPPORTED with a reason is what a plugin answers to what it does not know: not an error of its own.
Finding IsDeclined(const Answer& answer, const char* what) {
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

// "" or what is wrong with an implementation.
std::string ProblemOf(const assay_implementation* implementation, std::set<std::string>& names) {
  if (implementation == nullptr) return "a NULL pointer";
  if (!ASSAY_HAS(implementation, contract)) {
    return fmt::format("struct_size is {}; set it to sizeof(assay_implementation)", implementation->struct_size);
  }
  if (implementation->name == nullptr || implementation->contract == nullptr) return "its name or contract is NULL";
  const std::string name = implementation->name;
  if (!IsImplementationName(name) || name.size() > kMaxNameBytes) {
    return fmt::format("'{}' is no name; use lower case letters, digits, '-', '_', '.'", name);
  }
  if (!names.insert(name).second) return fmt::format("'{}' is listed twice", name);
  const auto contract = ParseDeclaration(implementation->contract);
  return contract ? "" : fmt::format("the contract of '{}': {}", name, contract.error().message);
}

}  // namespace

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
    finding = IsDeclined(Ask(plugin, copy.op()), (offer.name + " with an output of an unknown type").c_str());
    if (finding.kind != Finding::Kind::kOk) return finding;
  }
  return finding;
}

Finding UnknownAttribute(PluginUnderTest& plugin) {
  for (const CheckedOffer& offer : plugin.offers) {
    DescriptionCopy copy(offer.op->get(), DescriptionCopy::Caller::kSame);
    copy.AddAttr("assay_unknown_attribute", 0);
    const Answer answer = Ask(plugin, copy.op());
    const bool declined = answer.status == ASSAY_UNSUPPORTED && !answer.reason.empty();
    if (answer.status != ASSAY_OK && !declined) {
      return Bad(
          "query of {} with an attribute more returned status {} ({}); ignore it, or return ASSAY_UNSUPPORTED "
          "with the reason",
          offer.name, answer.status, answer.reason);
    }
  }
  return Good("ignored or declined");
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
  return Good("{} operators", plugin.offers.size());
}

Finding Implementations(PluginUnderTest& plugin) {
  std::string all;
  for (const CheckedOffer& offer : plugin.offers) {
    std::set<std::string> names;
    for (const assay_implementation* implementation : offer.implementations) {
      const std::string problem = ProblemOf(implementation, names);
      if (!problem.empty()) return Bad("{}: {}", offer.name, problem);
    }
    all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", offer.name, fmt::join(names, " "));
  }
  return Good("{}", all);
}

Finding QueryCapacity(PluginUnderTest& plugin) {
  constexpr size_t kSlots = 8;
  for (const CheckedOffer& offer : plugin.offers) {
    for (const uint64_t room : {0, 1}) {
      const assay_implementation* slots[kSlots];
      std::memset(slots, kUntouched, sizeof slots);
      uint64_t count = room;
      ErrorText error;
      const assay_status status = plugin.api->query(plugin.device, &offer.op->get(), slots, &count, error.out());
      if (status != ASSAY_OK) return Bad("{}, room for {}: {}", offer.name, room, Told("query", status, error));
      if (!IsUntouched(slots + room, (kSlots - room) * sizeof slots[0])) {
        return Bad("query of {} wrote more pointers than the {} that *count allows", offer.name, room);
      }
      if (count != offer.implementations.size()) {
        return Bad("query of {} sets *count to {} where there is room for {}; set it to how many there are, {}",
                   offer.name, count, room, offer.implementations.size());
      }
    }
  }
  return Good("room for none and for one");
}

}  // namespace assay::plugin_check
