// SPDX-License-Identifier: Apache-2.0
// A problem prepared by one implementation on a device. What it holds there is freed with it.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/device/device.h"

namespace assay {

class PreparedPlan {
 public:
  // `device` outlives this.
  static Call<PreparedPlan> Make(const Device& device, const Problem& problem, const std::string& implementation,
                                 const LayoutVariant& layout = {});
  ~PreparedPlan();  // frees what nobody released, where what comes of it is not asked
  PreparedPlan(PreparedPlan&& other) noexcept;
  PreparedPlan& operator=(PreparedPlan&& other) noexcept;

  // Inputs in the problem's order.
  Call<Execution> Execute(const std::vector<Tensor>& inputs, Prefill prefill) const;

  // Frees it now; once. An error says that the plugin did not survive this, which belongs to the case.
  Call<void> Release();

  uint64_t id() const { return plan_; }
  double seconds() const { return seconds_; }  // that the preparation took
  const PlanDescription& description() const { return description_; }

 private:
  PreparedPlan(Session& session, const Prepared& prepared)
      : session_(&session), plan_(prepared.plan), seconds_(prepared.prepare_s), description_(prepared.description) {}

  Session* session_;  // null: released, or moved from
  uint64_t plan_;
  double seconds_;
  PlanDescription description_;
};

}  // namespace assay
