// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: magic, version, header length, a Python dict {'descr', 'fortran_order', 'shape'}, raw elements.
// Reads versions 1 to 3, either byte order, C and Fortran order; types f2 f4 f8 i1 u1 i4 i8 c8 c16 and bool
// (as i8). bf16 and fp8 have no NumPy type: they travel as u2 and u1 (or V2 and V1, as extension types are saved), and
// the reader says which type the bits stand for; u1 of which it says nothing is u8.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "harness/core/base/result.h"
#include "harness/core/data/safetensors.h"
#include "harness/core/data/tensor.h"

namespace assay {

// `bits_as`: the 2- or 1-byte type that u2 or u1 elements hold; ignored for all others.
// Errors say what is damaged or not supported: magic, version, header, type, order, shape, size.
Result<Tensor> ReadNpy(const std::filesystem::path& path, std::optional<DType> bits_as = std::nullopt);
// Overload for a file's content.
Result<Tensor> ParseNpy(std::string_view bytes, std::optional<DType> bits_as = std::nullopt);

// Version 1, little-endian, C order; bf16 as u2, fp8 as u1. `name` of the tensor is not used. Writes to a temporary
// name beside `path` and renames it.
Status WriteNpy(const std::filesystem::path& path, const TensorRef& tensor);

}  // namespace assay
