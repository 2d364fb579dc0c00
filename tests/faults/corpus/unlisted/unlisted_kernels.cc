// SPDX-License-Identifier: Apache-2.0
// The corpus's kernels of operators that no list knows: right ones and faults, by the right definition.
#include "ops/formula_operator/formula_operator.h"
#include "tests/support/formula/unlisted.h"

namespace assay {
namespace {

ASSAY_OPERATOR(unlisted, test::Unlisted);
ASSAY_OPERATOR(unlisted_mistaken, test::Unlisted);

}  // namespace
}  // namespace assay
