// SPDX-License-Identifier: Apache-2.0
// A plan as a list of steps on the device's queue, most of them kernel launches. A kernel's arguments are, for each
// operand, a buffer and the offset of its element zero in elements (long), then one struct of parameters, and, where
// the grid says so, local memory.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/canary.h"
#include "backends/common/op_desc.h"
#include "backends/opencl/device.h"

namespace opencl {

// Device memory that a plan lends to kernels and to VkFFT: a part of an allocation, with canaries before and behind it.
class LentBuffer {
 public:
  LentBuffer(Device& device, plugin::Loan loan);
  cl_mem get() const { return part_.get(); }
  uint64_t bytes() const { return loan_.bytes; }
  void Check();  // plugin::CheckCanaries()

 private:
  Device& device_;
  const plugin::Loan loan_;
  const uint64_t origin_;  // of the part; the zone before it ends there
  DeviceBuffer whole_;
  Handle<cl_mem> part_;
};

// Which buffer a kernel argument is: one of the case, or a workspace of the plan.
struct Operand {
  enum class From { kInput, kOutput, kWorkspace } from = From::kInput;
  size_t index = 0;
  int64_t element_bytes = 1;
  cl_mem workspace = nullptr;
};

struct Grid {
  std::array<size_t, 3> groups{1, 1, 1};
  std::array<size_t, 3> items{1, 1, 1};  // per group
  size_t local_bytes = 0;                // of the last argument; 0: there is none
};

// A grid of `groups` groups in two dimensions, neither of them long: PoCL compiles a kernel once more for long ones.
// The kernel finds its group by GroupIndex() of elements.cl.
Grid RowOfGroups(int64_t groups, int64_t items);

class Step {
 public:
  virtual ~Step() = default;
  // Puts its work into the queue; `event`, when not null, receives a reference to that work's event.
  virtual void Enqueue(cl_command_queue queue, const plugin::Args& args, cl_event* event) = 0;
  virtual std::string Name() const = 0;  // of the kernel, or of the library that brings several
};

class KernelPlan : public plugin::Plan {
 public:
  KernelPlan(Device& device, const plugin::OpDesc& op) : device_(device), op_(op) {}

  Operand Input(int index) const;
  Operand Output(int index = 0) const;
  // Between canaries; `borrower` is who works in it.
  Operand Workspace(int64_t elements, int64_t element_bytes, const std::string& borrower = "a kernel of this plugin");

  // Appends a launch. Params is a struct of 8-byte integers that the kernel declares alike.
  template <class Params>
  void Launch(const ProgramSpec& program, const char* kernel, const std::vector<Operand>& operands,
              const Params& params, const Grid& grid) {
    AddLaunch(program, kernel, operands, &params, sizeof params, grid);
  }
  void Add(std::unique_ptr<Step> step) { steps_.push_back(std::move(step)); }

  void Execute(const plugin::Args& args) override;
  // From the start of the first launch to the end of the last, by the device's clock.
  void ExecuteBatch(plugin::Batch& batch) override;
  void CheckLoans() override;
  plugin::PlanInfo Info() const override;

 protected:
  bool FlushCache() override { return device_.FlushCache(); }

 private:
  void AddLaunch(const ProgramSpec& program, const char* kernel, const std::vector<Operand>& operands,
                 const void* params, size_t bytes, const Grid& grid);
  // Runs the steps; an event of each that gives one. Throws when a command failed after the queue had taken it.
  std::vector<Handle<cl_event>> Run(const plugin::Args& args);

  Device& device_;
  const plugin::OpDesc op_;
  std::vector<std::unique_ptr<LentBuffer>> workspaces_;
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace opencl
