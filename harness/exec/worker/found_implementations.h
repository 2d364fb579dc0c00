// SPDX-License-Identifier: Apache-2.0
// Worker side: what a plugin's query() found, given back to it at the end.
#pragma once

#include <span>
#include <string>

#include "backends/abi/assay_backend.h"
#include "harness/exec/worker/error_text.h"

namespace assay {

class FoundImplementations {
 public:
  // The device outlives this.
  FoundImplementations(const assay_backend_api& api, assay_device* device) : api_(&api), device_(device) {}
  FoundImplementations(const FoundImplementations&) = delete;
  FoundImplementations& operator=(const FoundImplementations&) = delete;
  ~FoundImplementations();

  // Asks the plugin. May be called once.
  assay_status Query(const assay_op_desc& op, ErrorText& error);
  // Says what is wrong with the list; "" if nothing is. Precondition: Query() returned ASSAY_OK.
  std::string Problem() const;
  // Precondition: Problem() is "".
  std::span<const assay_implementation* const> items() const { return {found_->items, found_->count}; }

 private:
  const assay_backend_api* api_;
  assay_device* device_;
  const assay_implementations* found_ = nullptr;
};

}  // namespace assay
