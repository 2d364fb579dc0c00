// SPDX-License-Identifier: Apache-2.0
// The exact twins of a contract while a case is judged and timed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/op_info.h"

namespace assay::cli {

// A twin that is kept, or, where that would be large, made again when it is asked for and nobody has it. Any thread.
class HeldTwin {
 public:
  explicit HeldTwin(Twin twin) : kept_(std::make_shared<const Twin>(std::move(twin))) {}
  explicit HeldTwin(std::function<Twin()> make) : make_(std::move(make)) {}

  std::shared_ptr<const Twin> Get() const;
  // Its operands alone; they do not hold what is expected of them.
  std::shared_ptr<const std::vector<Tensor>> Inputs() const;
  // From here on it is kept.
  const Twin& Keep() const;

 private:
  std::shared_ptr<const Twin> GetLocked() const;

  std::function<Twin()> make_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Twin> kept_;
  mutable std::weak_ptr<const Twin> present_;
};

}  // namespace assay::cli
