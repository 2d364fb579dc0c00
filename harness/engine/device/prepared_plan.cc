// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/prepared_plan.h"

#include <exception>
#include <utility>

#include "harness/engine/device/executions.h"

namespace assay {

Call<PreparedPlan> PreparedPlan::Make(const Device& device, const Problem& problem, const std::string& implementation,
                                      const LayoutVariant& layout) {
  auto prepared = device.session->Prepare(device.device_index, problem, implementation, layout);
  if (!prepared) return tl::unexpected(prepared.error());
  return PreparedPlan(*device.session, *prepared);
}

PreparedPlan::~PreparedPlan() {
  try {
    Release();
  } catch (const std::exception&) {
    // Another failure is under way, which says more.
  }
}

PreparedPlan::PreparedPlan(PreparedPlan&& other) noexcept
    : session_(std::exchange(other.session_, nullptr)),
      plan_(other.plan_),
      seconds_(other.seconds_),
      description_(std::move(other.description_)) {}

PreparedPlan& PreparedPlan::operator=(PreparedPlan&& other) noexcept {
  std::swap(session_, other.session_);
  std::swap(plan_, other.plan_);
  std::swap(seconds_, other.seconds_);
  std::swap(description_, other.description_);
  return *this;
}

Call<Execution> PreparedPlan::Execute(const std::vector<Tensor>& inputs, Prefill prefill) const {
  return session_->Execute(plan_, PointersTo(inputs), prefill);
}

Call<void> PreparedPlan::Release() {
  if (session_ == nullptr) return {};
  auto released = std::exchange(session_, nullptr)->Release(plan_);
  if (!released) released.error().message = "when its plan was freed: " + released.error().message;
  return released;
}

}  // namespace assay
