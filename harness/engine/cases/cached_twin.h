// SPDX-License-Identifier: Apache-2.0
// The exact twins of a contract while a case is judged and timed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "ops/operator.h"

namespace assay {

// A twin that is kept, or, where that would be large, made again when it is asked for and nobody has it. Any thread.
class CachedTwin {
 public:
  // `output`: which one it expects something of.
  explicit CachedTwin(Twin twin, size_t output = 0)
      : output_(output),
        tolerance_ulp_(twin.tolerance_ulp),
        sparse_(twin.sparse),
        kept_(std::make_shared<const Twin>(std::move(twin))) {}
  CachedTwin(double tolerance_ulp, std::function<Twin()> make, size_t output = 0)
      : output_(output), tolerance_ulp_(tolerance_ulp), make_(std::move(make)) {}

  std::shared_ptr<const Twin> Get() const;
  // Its operands alone, without what is expected of them. They are kept from the first time on: each timed loop asks.
  std::shared_ptr<const std::vector<Tensor>> Inputs() const;
  // From here on it is kept.
  const Twin& Keep() const;
  size_t output() const { return output_; }
  // The twin's tolerance and sparseness, without making it. A twin that is made again is never sparse.
  double ToleranceUlp() const { return tolerance_ulp_; }
  bool IsSparse() const { return sparse_; }

 private:
  std::shared_ptr<const Twin> GetLocked() const;

  size_t output_ = 0;
  double tolerance_ulp_ = 0;
  bool sparse_ = false;
  std::function<Twin()> make_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Twin> kept_;
  mutable std::weak_ptr<const Twin> present_;
  mutable std::shared_ptr<const std::vector<Tensor>> inputs_;
};

}  // namespace assay
