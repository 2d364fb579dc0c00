// SPDX-License-Identifier: Apache-2.0
// The smallest case that still does what a case does.
#pragma once

#include <functional>
#include <vector>

#include "harness/core/model/case_spec.h"

namespace assay {

// Cases that are simpler in one thing: an attribute at its default, the normal fill, seed 0, one extent smaller or all
// of them halved. Those that are much simpler come first. The operator need not take them.
std::vector<CaseSpec> ListSimplerCases(const CaseSpec& spec, const OpSchema& schema);

// Goes on to a simpler case as long as `does_it` holds for one, which is asked about each case once and at most
// `most_tries` times. `is_case`: whether the operator takes it.
CaseSpec ShrinkCase(const CaseSpec& spec, const OpSchema& schema, int most_tries,
                    const std::function<bool(const CaseSpec&)>& is_case,
                    const std::function<bool(const CaseSpec&)>& does_it);

// The case as a line of a suite file.
std::string SuiteLineOf(const CaseSpec& spec);

}  // namespace assay
