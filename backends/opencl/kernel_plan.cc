// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/kernel_plan.h"

#include "backends/common/status.h"

namespace opencl {
namespace {

class KernelStep final : public Step {
 public:
  KernelStep(Handle<cl_kernel> kernel, std::vector<Operand> operands, const Grid& grid)
      : kernel_(std::move(kernel)), operands_(std::move(operands)), local_(grid.items) {
    for (size_t axis = 0; axis < 3; ++axis) global_[axis] = grid.groups[axis] * grid.items[axis];
  }

  void Enqueue(cl_command_queue queue, const plugin::Args& args, cl_event* event) override {
    for (size_t i = 0; i < operands_.size(); ++i) Bind(static_cast<cl_uint>(2 * i), operands_[i], args);
    Check(clEnqueueNDRangeKernel(queue, kernel_.get(), 3, nullptr, global_.data(), local_.data(), 0, nullptr, event),
          "clEnqueueNDRangeKernel");
  }

 private:
  void Bind(cl_uint at, const Operand& operand, const plugin::Args& args) const {
    cl_mem memory = operand.workspace;
    cl_long offset = 0;
    if (operand.from != Operand::From::kWorkspace) {
      const plugin::Arg& arg = (operand.from == Operand::From::kInput ? args.inputs : args.outputs)[operand.index];
      const auto bytes = static_cast<uint64_t>(operand.element_bytes);
      if (arg.byte_offset % bytes != 0) {
        throw plugin::Unsupported("an operand at byte {} is not aligned to its elements of {} bytes", arg.byte_offset,
                                  bytes);
      }
      memory = static_cast<DeviceBuffer*>(arg.buffer)->get();
      offset = static_cast<cl_long>(arg.byte_offset / bytes);
    }
    Check(clSetKernelArg(kernel_.get(), at, sizeof memory, &memory), "clSetKernelArg");
    Check(clSetKernelArg(kernel_.get(), at + 1, sizeof offset, &offset), "clSetKernelArg");
  }

  Handle<cl_kernel> kernel_;
  std::vector<Operand> operands_;
  std::array<size_t, 3> global_{}, local_{};
};

cl_ulong Timestamp(cl_event event, cl_profiling_info what) {
  cl_ulong nanoseconds = 0;
  Check(clGetEventProfilingInfo(event, what, sizeof nanoseconds, &nanoseconds, nullptr), "clGetEventProfilingInfo");
  return nanoseconds;
}

}  // namespace

Operand KernelPlan::Input(int index) const {
  const auto at = static_cast<size_t>(index);
  return {Operand::From::kInput, at, plugin::Bytes(op_.inputs()[at].dtype)};
}

Operand KernelPlan::Output() const {
  return {Operand::From::kOutput, 0, plugin::Bytes(op_.outputs()[0].dtype)};
}

Operand KernelPlan::Workspace(int64_t elements, int64_t element_bytes) {
  workspaces_.push_back(std::make_unique<DeviceBuffer>(device_.context(), device_.traits(),
                                                       static_cast<uint64_t>(elements * element_bytes)));
  return {Operand::From::kWorkspace, 0, element_bytes, workspaces_.back()->get()};
}

void KernelPlan::AddLaunch(const ProgramSpec& program, const char* kernel, const std::vector<Operand>& operands,
                           const void* params, size_t bytes, const Grid& grid) {
  Handle<cl_kernel> handle = device_.programs().Kernel(program, kernel);
  size_t limit = 0;
  Check(clGetKernelWorkGroupInfo(handle.get(), device_.traits().id, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit,
                                 nullptr),
        "clGetKernelWorkGroupInfo");
  const size_t items = grid.items[0] * grid.items[1] * grid.items[2];
  if (items > limit) {
    throw plugin::Unsupported("kernel {} needs {} work-items in a group; {} offers {}", kernel, items,
                              device_.traits().name, limit);
  }
  Check(clSetKernelArg(handle.get(), static_cast<cl_uint>(2 * operands.size()), bytes, params), "clSetKernelArg");
  Add(std::make_unique<KernelStep>(std::move(handle), operands, grid));
}

void KernelPlan::Enqueue(const plugin::Args& args, cl_event* first, cl_event* last) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    cl_event* event = i == 0 ? first : i + 1 == steps_.size() ? last : nullptr;
    steps_[i]->Enqueue(device_.queue(), args, event);
  }
  Check(clFinish(device_.queue()), "clFinish");
}

void KernelPlan::Execute(const plugin::Args& args) {
  Enqueue(args, nullptr, nullptr);
}

void KernelPlan::ExecuteTimed(plugin::Timing& timing) {
  bool flushed = timing.cold;
  for (size_t r = 0; r < timing.seconds.size(); ++r) {
    if (timing.cold) flushed = FlushCache() && flushed;
    Handle<cl_event> first, last;
    Enqueue(timing.sets[r % timing.sets.size()], first.Receive(), last.Receive());
    const cl_event end = last.get() != nullptr ? last.get() : first.get();
    const cl_ulong begin = Timestamp(first.get(), CL_PROFILING_COMMAND_START);
    timing.seconds[r] = 1e-9 * static_cast<double>(Timestamp(end, CL_PROFILING_COMMAND_END) - begin);
  }
  timing.clock_is_device = true;
  timing.cache_was_flushed = flushed && !timing.seconds.empty();
}

}  // namespace opencl
