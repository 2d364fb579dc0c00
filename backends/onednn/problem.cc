// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/problem.h"

#include <algorithm>

#include "backends/common/status.h"
#include "backends/onednn/library.h"

namespace onednn {

std::vector<Problem> KeepOffered(std::initializer_list<std::function<Problem()>> makers) {
  std::vector<Problem> problems;
  std::string reason;
  for (const auto& make : makers) {
    try {
      problems.push_back(make());
    } catch (const plugin::Error& e) {
      if (e.status() != ASSAY_UNSUPPORTED) throw;
      if (reason.empty()) reason = e.what();
    }
  }
  if (problems.empty()) throw plugin::Unsupported("{}", reason);
  return problems;
}

Placement PlacementOf(const Problem& problem, const dnnl::engine& engine) {
  if (!problem.own_layouts) return Placement::kAsGiven;
  Placement placement = Placement::kAsGiven;
  for (const Operand& operand : problem.operands) {
    const Md chosen = problem.descriptor.pd.query_md(dnnl::query::exec_arg_md, operand.argument);
    if (chosen == operand.desc) continue;
    placement = Placement::kReordered;
    const bool out = operand.is_output;
    try {
      dnnl::reorder::primitive_desc(engine, out ? chosen : operand.desc, engine, out ? operand.desc : chosen);
    } catch (const dnnl::error& e) {
      if (e.status != dnnl_unimplemented && e.status != dnnl_invalid_arguments) throw;
      return Placement::kImpossible;  // Winograd's weights from strides with gaps
    }
  }
  return placement;
}

dnnl::primitive_attr StrictAttributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attr;
}

Loans::Loans(const dnnl::engine& engine, const std::string& kernel)
    : engine_(engine), borrower_(LibraryVersion() + ", kernel " + kernel) {}

dnnl::memory Loans::Lend(const Md& desc, const std::string& what) {
  memories_.emplace_back(plugin::Loan{borrower_, what, desc.get_size()});
  return {desc, engine_, memories_.back().data()};
}

void Loans::Check() const {
  for (const plugin::GuardedMemory& memory : memories_) memory.Check();
}

uint64_t Loans::Bytes() const {
  uint64_t bytes = 0;
  for (const plugin::GuardedMemory& memory : memories_) bytes += memory.loan().bytes;
  return bytes;
}

PrimitivePlan::PrimitivePlan(const Problem& problem, const std::string& implementation, const dnnl::engine& engine)
    : algorithm_(problem.descriptor.pd.impl_info_str()),
      loans_(engine, implementation),
      stream_(engine),
      primitive_(problem.descriptor.pd),
      begin_(problem.begin),
      finish_(problem.finish) {
  for (const Operand& operand : problem.operands) {
    bound_.push_back({dnnl::memory(operand.desc, engine, DNNL_MEMORY_NONE), operand.is_output, operand.index});
    arguments_[operand.argument] = bound_.back().memory;
    if (operand.converted != nullptr) {
      const dnnl::memory to = loans_.Lend(operand.desc, "what is made of input " + std::to_string(operand.index));
      arguments_[operand.argument] = to;
      conversions_.push_back({operand.converted, bound_.back().memory, to});
    }
    if (!problem.own_layouts) continue;
    const Md chosen = problem.descriptor.pd.query_md(dnnl::query::exec_arg_md, operand.argument);
    if (chosen != operand.desc) Reorder(operand, chosen);
  }
  for (const auto& [argument, desc] : problem.lent) {
    arguments_[argument] = loans_.Lend(desc, "argument " + std::to_string(argument));
  }
  if (const Md workspace = problem.descriptor.pd.query_md(dnnl::query::workspace_md); workspace.get_size() > 0) {
    arguments_[DNNL_ARG_WORKSPACE] = loans_.Lend(workspace, "its workspace");
  }
  arguments_[DNNL_ARG_SCRATCHPAD] = loans_.Lend(problem.descriptor.pd.scratchpad_desc(), "its scratchpad");
  if (!problem.preload) return;
  const dnnl::memory source(problem.preload->desc, engine, DNNL_MEMORY_NONE);
  const dnnl::memory& destination = arguments_.at(DNNL_ARG_DST);
  preload_.emplace(source, destination);
  preload_bound_ = {{source, false, problem.preload->index}, {destination, true, 0}};
}

// The primitive works on a copy of the operand that was bound last.
void PrimitivePlan::Reorder(const Operand& operand, const Md& chosen) {
  const dnnl::memory& given = bound_.back().memory;
  const dnnl::memory copy = loans_.Lend(
      chosen, operand.is_output ? "the copy of the output" : "the copy of input " + std::to_string(operand.index));
  arguments_[operand.argument] = copy;
  if (operand.is_output) {
    after_.push_back({dnnl::reorder(copy, given), copy, given});
  } else {
    before_.push_back({dnnl::reorder(given, copy), given, copy});
  }
}

void PrimitivePlan::Attach(Bound& bound, Pointers inputs, Pointers outputs) {
  bound.memory.set_data_handle((bound.is_output ? outputs : inputs)[bound.index]);
}

void PrimitivePlan::Run(Pointers inputs, Pointers outputs) {
  for (Bound& bound : bound_) Attach(bound, inputs, outputs);
  if (preload_) {
    Attach(preload_bound_[0], inputs, outputs);
    preload_->execute(stream_, preload_bound_[0].memory, preload_bound_[1].memory);
  }
  if (begin_) begin_(arguments_, inputs, outputs);
  for (const Conversion& conversion : conversions_) {
    const auto* from = static_cast<const float*>(conversion.from.get_data_handle());
    const size_t count = conversion.from.get_desc().get_size() / sizeof(float);
    std::transform(from, from + count, static_cast<float*>(conversion.to.get_data_handle()), conversion.converted);
  }
  for (Copy& copy : before_) copy.reorder.execute(stream_, copy.from, copy.to);
  primitive_.execute(stream_, arguments_);
  for (Copy& copy : after_) copy.reorder.execute(stream_, copy.from, copy.to);
  stream_.wait();
  if (finish_) finish_(arguments_, inputs, outputs);
}

}  // namespace onednn
