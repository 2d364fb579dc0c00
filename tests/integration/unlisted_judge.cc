// SPDX-License-Identifier: Apache-2.0
// An assay with an operator that no list knows, and with one whose definition lacks a term that kernels do not forget.
#include "ops/formula_operator/formula_operator.h"
#include "tests/support/formula/unlisted.h"

namespace assay {
namespace {

ASSAY_OPERATOR(unlisted, test::Unlisted);
ASSAY_OPERATOR(unlisted_mistaken, test::UnlistedWithoutShift);

}  // namespace
}  // namespace assay
