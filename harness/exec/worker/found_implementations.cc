// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker/found_implementations.h"

#include <fmt/format.h>

namespace assay {

FoundImplementations::~FoundImplementations() {
  if (found_ != nullptr) api_->query_free(device_, found_);
}

assay_status FoundImplementations::Query(const assay_op_desc& op, ErrorText& error) {
  const assay_status status = api_->query(device_, &op, &found_, error.out());
  if (status != ASSAY_OK) found_ = nullptr;  // nothing to be freed, whatever was written there
  return status;
}

std::string FoundImplementations::Problem() const {
  if (found_ == nullptr) return "ASSAY_OK and no list of implementations";
  if (!ASSAY_HAS(found_, items)) {
    return fmt::format("struct_size of the list is {}; set it to sizeof(assay_implementations)", found_->struct_size);
  }
  if (found_->count > kMaxImplementations) {
    return fmt::format("{} implementations; at most {} are possible", found_->count, kMaxImplementations);
  }
  if (found_->count == 0) return "ASSAY_OK and no implementation; without any it is ASSAY_UNSUPPORTED";
  if (found_->items == nullptr) return "the list of implementations has no items";
  for (uint64_t i = 0; i < found_->count; ++i) {
    const assay_implementation* item = found_->items[i];
    if (item == nullptr) return fmt::format("implementation {} is a NULL pointer", i);
    if (!ASSAY_HAS(item, contract)) {
      return fmt::format("struct_size of implementation {} is {}; set it to sizeof(assay_implementation)", i,
                         item->struct_size);
    }
  }
  return "";
}

}  // namespace assay
