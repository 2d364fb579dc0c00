// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/kernels.h"

namespace onednn {
namespace {

// The largest magnitude of an 8-bit type: 128 for i8, 255 for u8.
int64_t Largest(plugin::DType dtype) {
  return dtype.code == ASSAY_TYPE_INT ? int64_t{1} << (dtype.bits - 1) : (int64_t{1} << dtype.bits) - 1;
}

// Kernels that store their s32 sums as they are. The GEMM of matmul does; the convolution of that name converts. AMX
// multiplies signed bytes, so brgemm has nothing to correct and stores its tiles. VNNI multiplies unsigned by signed
// bytes: brgemm then shifts a signed operand by 128, and its correction is a post-op, before which sums become f32.
bool StoresSums(IntegerSum::Operator op, std::string_view name) {
  if (op == IntegerSum::Operator::kMatmul && name.starts_with("gemm")) return true;
  return name.starts_with("brg") && name.find("amx") != std::string_view::npos;
}

// The 1x1 convolutions correct the shift of a signed image in f32: what is converted is the sum over image + 128.
// The others correct it in s32, "to avoid loss of precision" (oneDNN 2.6.3, jit_avx512_core_x8s8s32x_conv_kernel.cpp
// line 301; line 414 of jit_avx512_core_x8s8s32x_1x1_conv_kernel.cpp).
bool ConvertsShiftedSums(std::string_view name) {
  return name.starts_with("jit_int8_1x1") || name.starts_with("jit_uni_int8_1x1");
}

}  // namespace

std::string IntegerContract(const IntegerSum& sum, std::string_view implementation) {
  constexpr int64_t kExactInF32 = int64_t{1} << 24;
  const bool shifted = ConvertsShiftedSums(implementation) && sum.a.code == ASSAY_TYPE_INT;
  const int64_t product = (shifted ? 2 * Largest(sum.a) - 1 : Largest(sum.a)) * Largest(sum.b);
  const bool exact = StoresSums(sum.op, implementation) || sum.terms <= kExactInF32 / product;
  return exact ? "acc=i32;det=yes" : "f32acc;det=yes";
}

// The bf16 dot product flushes subnormal inputs and sums, the conversion to bf16 subnormal outputs.
std::string FlushOfProducts(bool is_narrow, plugin::DType out, std::string_view implementation) {
  if (is_narrow && !implementation.starts_with("ref")) return ";ftz=all";
  return out == plugin::kBF16 ? ";ftz=out" : "";
}

bool SaturatesSumsOfBytes(std::string_view implementation) {
  constexpr std::string_view kIsa = "-avx512_core";
  const size_t at = implementation.find(kIsa);
  return at != std::string_view::npos && !implementation.substr(at + kIsa.size()).starts_with('_');
}

// jit_avx512_core_amx_1x1_conv_kernel.cpp takes output positions in pairs of blocks where their number is odd: the last
// pair's second block lies behind the output ("1x1 conv: fix os_tail computation", oneDNN 3.4, and 3.3.5).
bool WritesPastItsOutput(std::string_view implementation, Version version) {
  return implementation.starts_with("jit_1x1-avx512_core_amx") && version < Version{3, 4};
}

}  // namespace onednn
