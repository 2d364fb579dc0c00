// SPDX-License-Identifier: Apache-2.0
// Checks features of a description besides types and shapes: unknown ones are declined, known ones computed right.
#include <algorithm>
#include <functional>

#include "harness/core/base/amounts.h"
#include "harness/exec/plugin_check/plugin_check_operands.h"

namespace assay::plugin_check {
namespace {

// Each offer with one thing changed has to be declined.
Finding CheckAllDecline(PluginUnderTest& plugin, const char* what,
                        const std::function<bool(DescriptionCopy&)>& change) {
  Finding finding = Good("");
  for (const CheckedOffer& offer : plugin.offers) {
    DescriptionCopy copy(offer.op->get(), DescriptionCopy::Caller::kSame);
    if (!change(copy)) continue;
    finding = IsDeclined(Ask(plugin, copy.op()), offer.name + " with " + what);
    if (finding.kind != kOk) return finding;
  }
  return finding;
}

bool SameShape(const assay_tensor_desc& a, const assay_tensor_desc& b) {
  return a.type_code == b.type_code && a.bits == b.bits &&
         std::equal(a.shape, a.shape + a.ndim, b.shape, b.shape + b.ndim);
}

// Whether another output than the first is in place of this input.
bool IsTaken(const assay_op_desc& op, uint32_t input) {
  for (uint64_t i = 1; i < op.n_outputs; ++i) {
    if (op.outputs[i]->alias == input + 1) return true;
  }
  return false;
}

// The outputs' bytes of one execution of `op`.
Finding OutputOf(PluginUnderTest& plugin, const assay_op_desc& op, const std::string& implementation,
                 std::vector<unsigned char>& bytes) {
  Operands operands(plugin);
  TestPlan plan(plugin);
  if (Finding f = operands.Make(op); f.kind != kOk) return f;
  if (Finding f = plan.Create(op, implementation.c_str()); f.kind != kOk) return f;
  if (Finding f = plan.Execute(operands); f.kind != kOk) return f;
  return operands.Download(bytes);
}

}  // namespace

Finding UnknownFlags(PluginUnderTest& plugin) {
  struct Change {
    const char* what;
    std::function<bool(DescriptionCopy&)> change;
  };
  const Change changes[] = {
      {"a flag of the description that has no name", [](DescriptionCopy& copy) { return copy.op().flags |= 1u << 30; }},
      {"a flag of a tensor that has no name", [](DescriptionCopy& copy) { return copy.output().flags |= 1u << 30; }},
      {"a reserved member of a tensor that is not zero",
       [](DescriptionCopy& copy) { return copy.output().reserved = 1; }},
      {"a flag of an attribute that has no name",
       [](DescriptionCopy& copy) { return copy.FirstAttr() != nullptr && (copy.FirstAttr()->flags |= 1u << 30); }},
  };
  for (const auto& [what, change] : changes) {
    if (Finding f = CheckAllDecline(plugin, what, change); f.kind != kOk) return f;
  }
  return Good("of the description, a tensor and an attribute");
}

Finding InPlace(PluginUnderTest& plugin) {
  int declined = 0;
  std::string right;
  for (const CheckedOffer& offer : plugin.offers) {
    for (uint32_t input = 0; input <= offer.op->get().n_inputs; ++input) {
      DescriptionCopy copy(offer.op->get(), DescriptionCopy::Caller::kSame);
      if (IsTaken(offer.op->get(), input)) continue;
      copy.output().alias = input + 1;
      const Answer answer = Ask(plugin, copy.op());
      if (input == offer.op->get().n_inputs) {
        if (answer.status != ASSAY_OK) continue;
        return Bad("query of {} with an output in input {}, which does not exist, is ASSAY_OK", offer.name, input);
      }
      if (answer.status != ASSAY_OK) {
        if (Finding f = IsDeclined(answer, offer.name + " in place"); f.kind != kOk) return f;
        ++declined;
        continue;
      }
      if (!SameShape(*offer.op->get().inputs[input], *offer.op->get().outputs[0])) {
        return Bad("query of {} takes an output in input {}, which has another shape or type", offer.name, input);
      }
      const CheckedOffer::Implementation& implementation = offer.implementations.front();
      std::vector<unsigned char> apart, in_place;
      if (Finding f = OutputOf(plugin, offer.op->get(), implementation.name, apart); f.kind != kOk) return f;
      if (Finding f = OutputOf(plugin, copy.op(), implementation.name, in_place); f.kind != kOk) return f;
      if (ClaimsSameBits(implementation) && apart != in_place) {
        return Bad("{} {} gives another result in place than in memory of its own", offer.name, implementation.name);
      }
      right += (right.empty() ? "" : ", ") + offer.name;
    }
  }
  return Good("{} declined{}{}", declined, right.empty() ? "" : "; right: ", right);
}

namespace {

// Each output of its own memory, after one execution.
Finding WritesAllOutputs(PluginUnderTest& plugin, const CheckedOffer& offer, const std::string& implementation) {
  const assay_op_desc& op = offer.op->get();
  Operands operands(plugin);
  TestPlan plan(plugin);
  if (Finding f = operands.Make(op); f.kind != kOk) return f;
  if (Finding f = plan.Create(op, implementation.c_str()); f.kind != kOk) return f;
  if (Finding f = plan.Execute(operands); f.kind != kOk) return f;
  for (size_t i = 0; i < op.n_outputs; ++i) {
    if (op.outputs[i]->alias > 0) continue;
    bool unwritten = false;
    if (Finding f = operands.IsUnwritten(i, *op.outputs[i], &unwritten); f.kind != kOk) return f;
    if (!unwritten) continue;
    return Bad("{} {} does not write {}; an execution writes all of the {} outputs", offer.name, implementation,
               op.outputs[i]->name, op.n_outputs);
  }
  return Good("");
}

}  // namespace

Finding Outputs(PluginUnderTest& plugin) {
  size_t several = 0;
  for (const CheckedOffer& offer : plugin.offers) {
    DescriptionCopy copy(offer.op->get(), DescriptionCopy::Caller::kSame);
    copy.AddOutput();
    const Answer answer = Ask(plugin, copy.op());
    if (answer.status == ASSAY_OK) {
      return Bad("query of {} with one output more is ASSAY_OK; count the outputs of the description", offer.name);
    }
    if (answer.reason.empty()) return Bad("query of {} with one output more gives no reason", offer.name);
    if (offer.op->get().n_outputs < 2) continue;
    ++several;
    for (const CheckedOffer::Implementation& implementation : offer.implementations) {
      if (Finding f = WritesAllOutputs(plugin, offer, implementation.name); f.kind != kOk) return f;
    }
  }
  return Good("{}, {} of them with several outputs", Counted(std::ssize(plugin.offers), "operator"), several);
}

}  // namespace assay::plugin_check
