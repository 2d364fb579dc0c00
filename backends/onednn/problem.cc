// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/problem.h"

namespace onednn {

dnnl::primitive_attr StrictAttributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attr;
}

PrimitivePlan::PrimitivePlan(const Problem& problem, const dnnl::engine& engine)
    : stream_(engine), primitive_(problem.descriptor.pd) {
  for (const Operand& operand : problem.operands) {
    bound_.push_back({dnnl::memory(operand.desc, engine, DNNL_MEMORY_NONE), operand.is_output, operand.index});
    arguments_[operand.argument] = bound_.back().memory;
  }
  arguments_[DNNL_ARG_SCRATCHPAD] = dnnl::memory(problem.descriptor.pd.scratchpad_desc(), engine);
  if (!problem.preload) return;
  const dnnl::memory source(problem.preload->desc, engine, DNNL_MEMORY_NONE);
  const dnnl::memory& destination = arguments_.at(DNNL_ARG_DST);
  preload_.emplace(source, destination);
  preload_bound_ = {{source, false, problem.preload->index}, {destination, true, 0}};
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
  primitive_.execute(stream_, arguments_);
  stream_.wait();
}

}  // namespace onednn
