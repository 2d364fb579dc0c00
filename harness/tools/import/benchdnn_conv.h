// SPDX-License-Identifier: Apache-2.0
// Descriptors of benchdnn such as g2mb1ic16ih7_oc32oh7_kh3ph1, where the height stands for the width too. Private to
// the importer.
#pragma once

#include <string_view>

#include "harness/core/model/case_spec.h"

namespace assay {

// `mb`: of the option, "0" or "" where the descriptor's counts.
Result<AttrList> ConvAttrs(std::string_view descriptor, std::string_view mb);
Result<AttrList> InnerProductAttrs(std::string_view descriptor, std::string_view mb);  // as a matmul
Result<AttrList> GroupNormAttrs(std::string_view descriptor, std::string_view mb);

}  // namespace assay
