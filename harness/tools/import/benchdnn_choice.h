// SPDX-License-Identifier: Apache-2.0
// One choice of benchdnn's options, and what several drivers make of it. Private to the importer.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/case_spec.h"

namespace assay {

// One value of each option that counts.
using BenchdnnChoice = std::map<std::string, std::string, std::less<>>;

namespace benchdnn {

using Chosen = const BenchdnnChoice&;
using Types = Result<std::vector<DType>>;

// Precondition: the driver has the option.
const std::string& Value(Chosen choice, std::string_view option);

Result<DType> TypeOf(std::string_view name);
// "f16:f16:f32" of `count` tensors, or one for all of them.
Types TypesOf(std::string_view text, size_t count);
// "u8s8s32" of the former --cfg, or "f32" for all.
Types TypesOfConfig(std::string_view text);

bool IsForward(Chosen choice);
Status CheckForward(Chosen choice);

// benchdnn_products.cc
Result<CaseSpec> MapMatmul(Chosen choice, std::string_view problem);
Result<CaseSpec> MapInnerProduct(Chosen choice, std::string_view problem);
Result<CaseSpec> MapConv(Chosen choice, std::string_view problem);

// benchdnn_rows.cc
Result<CaseSpec> MapSoftmax(Chosen choice, std::string_view problem);
Result<CaseSpec> MapReduction(Chosen choice, std::string_view problem);
Result<CaseSpec> MapLayerNorm(Chosen choice, std::string_view problem);
Result<CaseSpec> MapGroupNorm(Chosen choice, std::string_view problem);
Result<CaseSpec> MapEltwise(Chosen choice, std::string_view problem);

}  // namespace benchdnn
}  // namespace assay
