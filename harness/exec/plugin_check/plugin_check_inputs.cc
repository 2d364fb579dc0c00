// SPDX-License-Identifier: Apache-2.0
// Inputs that change between executions.
#include "harness/core/base/amounts.h"
#include "harness/exec/plugin_check/plugin_check_operands.h"

namespace assay::plugin_check {
namespace {

// Whether an output is in place of this input.
bool IsOverwritten(const assay_op_desc& op, uint32_t input) {
  for (uint64_t i = 0; i < op.n_outputs; ++i) {
    if (op.outputs[i]->alias == input + 1) return true;
  }
  return false;
}

}  // namespace

// After part of an input has changed, an execution has to give what a new plan gives.
Finding ChangedInputs(PluginUnderTest& plugin) {
  int compared = 0;
  for (const CheckedOffer& offer : plugin.offers) {
    for (const CheckedOffer::Implementation& implementation : offer.implementations) {
      if (!ClaimsSameBits(implementation)) continue;
      std::vector<unsigned char> got, expected;
      Operands operands(plugin);
      TestPlan used(plugin), fresh(plugin);
      const assay_op_desc& op = offer.op->get();
      constexpr unsigned char kFlips = 0x01;
      if (Finding f = operands.Make(op); f.kind != kOk) return f;
      if (Finding f = used.Create(op, implementation.name.c_str()); f.kind != kOk) return f;
      if (Finding f = used.Execute(operands); f.kind != kOk) return f;
      if (Finding f = operands.Renew(op); f.kind != kOk) return f;
      if (Finding f = operands.ChangeFirstHalf(*op.inputs[0], 0, kFlips); f.kind != kOk) return f;
      if (Finding f = used.Execute(operands); f.kind != kOk) return f;
      if (Finding f = operands.Download(got); f.kind != kOk) return f;
      if (Finding f = fresh.Create(op, implementation.name.c_str()); f.kind != kOk) return f;
      if (Finding f = operands.Renew(op); f.kind != kOk) return f;
      if (IsOverwritten(op, 0)) {  // the change went with the execution
        if (Finding f = operands.ChangeFirstHalf(*op.inputs[0], 0, kFlips); f.kind != kOk) return f;
      }
      if (Finding f = fresh.Execute(operands); f.kind != kOk) return f;
      if (Finding f = operands.Download(expected); f.kind != kOk) return f;
      if (got != expected) {
        return Bad("{} {}: after a part of an input changed, the result is not that of the new input", offer.name,
                   implementation.name);
      }
      ++compared;
    }
  }
  return Good("{}", Counted(compared, "implementation"));
}

}  // namespace assay::plugin_check
