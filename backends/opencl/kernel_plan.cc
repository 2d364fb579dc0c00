// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/kernel_plan.h"

#include "backends/common/status.h"

namespace opencl {
namespace {

class KernelStep final : public Step {
 public:
  KernelStep(Handle<cl_kernel> kernel, const char* name, std::vector<Operand> operands, const Grid& grid)
      : kernel_(std::move(kernel)), name_(name), operands_(std::move(operands)), local_(grid.items) {
    for (size_t axis = 0; axis < 3; ++axis) global_[axis] = grid.groups[axis] * grid.items[axis];
  }

  void Enqueue(cl_command_queue queue, const plugin::Args& args, cl_event* event) override {
    for (size_t i = 0; i < operands_.size(); ++i) Bind(static_cast<cl_uint>(2 * i), operands_[i], args);
    Check(clEnqueueNDRangeKernel(queue, kernel_.get(), 3, nullptr, global_.data(), local_.data(), 0, nullptr, event),
          "clEnqueueNDRangeKernel", name_);
  }

  std::string Name() const override { return name_; }

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
  const char* name_;
  std::vector<Operand> operands_;
  std::array<size_t, 3> global_{}, local_{};
};

cl_ulong Timestamp(cl_event event, cl_profiling_info what) {
  cl_ulong nanoseconds = 0;
  Check(clGetEventProfilingInfo(event, what, sizeof nanoseconds, &nanoseconds, nullptr), "clGetEventProfilingInfo");
  return nanoseconds;
}

// Throws when the command ended with an error: some drivers report it nowhere else.
void CheckCompleted(cl_event event) {
  cl_int status = CL_COMPLETE;
  Check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr), "clGetEventInfo");
  if (status < 0) Check(status, "a command of the queue");
}

}  // namespace

Grid RowOfGroups(int64_t groups, int64_t items) {
  constexpr int64_t kLong = 256;
  int64_t rows = 1;
  for (int64_t divisor = 2; divisor <= kLong && groups / rows > kLong; ++divisor) {
    if (groups % divisor == 0) rows = divisor;
  }
  return {{static_cast<size_t>(groups / rows), static_cast<size_t>(rows), 1}, {static_cast<size_t>(items), 1, 1}};
}

Operand KernelPlan::Input(int index) const {
  const auto at = static_cast<size_t>(index);
  return {Operand::From::kInput, at, plugin::Bytes(op_.inputs()[at].dtype)};
}

Operand KernelPlan::Output(int index) const {
  const auto at = static_cast<size_t>(index);
  return {Operand::From::kOutput, at, plugin::Bytes(op_.outputs()[at].dtype)};
}

Operand KernelPlan::Workspace(int64_t elements, int64_t element_bytes, const std::string& borrower) {
  plugin::Loan loan{borrower, "a workspace", static_cast<uint64_t>(elements * element_bytes)};
  workspaces_.push_back(std::make_unique<LentBuffer>(device_, std::move(loan)));
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
  const auto next = static_cast<cl_uint>(2 * operands.size());
  Check(clSetKernelArg(handle.get(), next, bytes, params), "clSetKernelArg");
  if (grid.local_bytes > 0) {
    Check(clSetKernelArg(handle.get(), next + 1, grid.local_bytes, nullptr), "clSetKernelArg");
  }
  Add(std::make_unique<KernelStep>(std::move(handle), kernel, operands, grid));
}

std::vector<Handle<cl_event>> KernelPlan::Run(const plugin::Args& args) {
  std::vector<Handle<cl_event>> events(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i]->Enqueue(device_.queue(), args, events[i].Receive());
  Check(clFinish(device_.queue()), "clFinish");
  for (const Handle<cl_event>& event : events) {
    if (event.get() != nullptr) CheckCompleted(event.get());
  }
  return events;
}

void KernelPlan::Execute(const plugin::Args& args) {
  Run(args);
}

void KernelPlan::CheckLoans() {
  for (const auto& workspace : workspaces_) workspace->Check();
}

plugin::PlanInfo KernelPlan::Info() const {
  plugin::PlanInfo info;
  for (const auto& workspace : workspaces_) info.workspace_bytes += workspace->bytes();
  for (const auto& step : steps_) info.kernel += (info.kernel.empty() ? "" : ",") + step->Name();
  return info;
}

void KernelPlan::ExecuteBatch(plugin::Batch& batch) {
  bool flushed = batch.cold;
  for (size_t i = 0; i < batch.args.size(); ++i) {
    if (batch.cold) flushed = FlushCache() && flushed;
    const std::vector<Handle<cl_event>> events = Run(*batch.args[i]);
    const cl_ulong begin = Timestamp(events.front().get(), CL_PROFILING_COMMAND_START);
    batch.seconds[i] = 1e-9 * static_cast<double>(Timestamp(events.back().get(), CL_PROFILING_COMMAND_END) - begin);
  }
  batch.clock_is_device = true;
  batch.cache_was_flushed = flushed && !batch.args.empty();
}

}  // namespace opencl
