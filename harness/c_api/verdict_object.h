// SPDX-License-Identifier: Apache-2.0
// Result of a judgement. It holds texts alone, so that no tensor lives as long as a verdict.
#pragma once

#include <memory>
#include <string>

#include "harness/c_api/assay/assay.h"
#include "harness/tools/check/check_case.h"

struct assay_verdict {
  bool passed = false, weak = false;
  std::string name, result_class, reason, record, text;
};

namespace assay::c_api {

// A caller's `sample` and `sample_seed`.
Result<SampleRequest> SampleOf(uint64_t elements, uint64_t seed);

std::unique_ptr<assay_verdict> MakeVerdict(const UserTensors& user, const CheckResult& judged, bool with_text = true);

}  // namespace assay::c_api
