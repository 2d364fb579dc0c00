// SPDX-License-Identifier: Apache-2.0
// Private to plugin_check*.cc: descriptions that can be changed, and operands to execute on.
#pragma once

#include <deque>
#include <vector>

#include "harness/exec/plugin_check/plugin_check_rules.h"

namespace assay::plugin_check {

// A flag of arguments that the header does not define.
inline constexpr uint64_t kUnknownFlag = uint64_t{1} << 63;
// Checks that a function refused arguments with the unknown flag, with an error text.
Finding CheckRefusesFlags(const char* function, assay_status status, const ErrorText& error);

// A copy of a description. Its structs have today's size or, like those of a newer caller, a larger one.
class DescriptionCopy {
 public:
  enum class Caller { kSame, kNewer };
  DescriptionCopy(const assay_op_desc& from, Caller caller);
  DescriptionCopy(const DescriptionCopy&) = delete;
  DescriptionCopy& operator=(const DescriptionCopy&) = delete;

  assay_op_desc& op() { return *op_.get(); }
  assay_tensor_desc& output(size_t number = 0) { return *tensors_[inputs_.size() + number].get(); }
  void AddOutput();  // like the last one, of another name
  void AddAttr(const char* key, int64_t value, uint32_t flags);
  assay_attr* FirstAttr();  // null: there is none

 private:
  uint64_t Announced(uint64_t today) const { return today + (caller_ == Caller::kNewer ? kTailBytes : 0); }
  const assay_tensor_desc* Copy(const assay_tensor_desc& from);
  const assay_attr* Copy(const assay_attr& from);
  void PointToCopies();

  Caller caller_;
  OtherVersion<assay_op_desc> op_;
  std::deque<OtherVersion<assay_tensor_desc>> tensors_;  // deques: elements never move
  std::deque<OtherVersion<assay_attr>> attrs_;
  std::vector<const assay_tensor_desc*> inputs_, outputs_;
  std::vector<const assay_attr*> attr_pointers_;
};

// One buffer per operand of a description, inputs filled with small numbers.
class Operands {
 public:
  explicit Operands(const PluginUnderTest& plugin) : plugin_(&plugin) {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  ~Operands();

  // Allocates and uploads; the failure of the plugin's function, or kOk.
  Finding Make(const assay_op_desc& op);
  // Uploads again what an execution has overwritten in place.
  Finding Renew(const assay_op_desc& op) const;
  const assay_args& args() const { return args_; }
  // The bytes of the outputs' buffers, one after the other, guards included.
  Finding Download(std::vector<unsigned char>& bytes) const;
  // Whether an output with memory of its own holds what it was filled with.
  Finding IsUnwritten(size_t output, const assay_tensor_desc& tensor, bool* unwritten) const;
  // Flips bits of the first half of an input, of one element at least.
  Finding ChangeFirstHalf(const assay_tensor_desc& tensor, size_t input, unsigned char flips) const;

 private:
  Finding Add(const assay_tensor_desc& tensor);
  Finding Fill(const assay_tensor_desc& tensor, size_t operand) const;
  const PluginUnderTest* plugin_;
  std::deque<assay_tensor_arg> storage_;
  std::vector<uint64_t> sizes_;
  std::vector<const assay_tensor_arg*> pointers_;  // of the inputs, then of the outputs
  assay_args args_{};
};

// A plan that is destroyed once.
class TestPlan {
 public:
  explicit TestPlan(const PluginUnderTest& plugin) : plugin_(&plugin) {}
  TestPlan(const TestPlan&) = delete;
  TestPlan& operator=(const TestPlan&) = delete;
  ~TestPlan() {
    if (plan_ != nullptr) plugin_->api->plan_destroy(plan_);
  }
  Finding Create(const assay_op_desc& op, const char* implementation);
  Finding Execute(const Operands& operands) const;
  assay_plan* get() const { return plan_; }

 private:
  const PluginUnderTest* plugin_;
  assay_plan* plan_ = nullptr;
};

// Executes twice; *same says whether the bytes agree.
Finding TwoExecutions(PluginUnderTest& plugin, const CheckedOffer& offer, const char* implementation, bool* same);
// A batch on operands of their own, by a caller whose assay_batch ends before the members that are answered.
Finding CallBatch(PluginUnderTest& plugin, const CheckedOffer& offer, const char* implementation);

}  // namespace assay::plugin_check
