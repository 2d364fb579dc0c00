// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/cached_twin.h"

#include <utility>

namespace assay {

std::shared_ptr<const Twin> CachedTwin::GetLocked() const {
  if (kept_) return kept_;
  std::shared_ptr<const Twin> twin = present_.lock();
  if (!twin) present_ = twin = std::make_shared<const Twin>(make_());
  return twin;
}

std::shared_ptr<const Twin> CachedTwin::Get() const {
  const std::lock_guard lock(mutex_);
  return GetLocked();
}

std::shared_ptr<const std::vector<Tensor>> CachedTwin::Inputs() const {
  const std::lock_guard lock(mutex_);
  if (kept_) return {kept_, &kept_->inputs};
  if (!inputs_) inputs_ = std::make_shared<const std::vector<Tensor>>(std::move(make_().inputs));
  return inputs_;
}

const Twin& CachedTwin::Keep() const {
  const std::lock_guard lock(mutex_);
  kept_ = GetLocked();
  inputs_.reset();
  return *kept_;
}

}  // namespace assay
