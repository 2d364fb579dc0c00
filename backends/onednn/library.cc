// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/library.h"

#include <cctype>

namespace onednn {

std::string LibraryVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

unsigned IsaBits() {
  return static_cast<unsigned>(dnnl_get_effective_cpu_isa());
}

std::string IsaName() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "avx512_core_amx";
    default:  // not an x86 CPU, or an ISA that is newer than this file
      return fmt::format("isa{:#x}", IsaBits());
  }
}

bool HasFusedMultiplyAdd() {
  const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  return isa != dnnl_cpu_isa_sse41 && isa != dnnl_cpu_isa_avx;
}

bool HasBf16() {
  return (IsaBits() & static_cast<unsigned>(dnnl_cpu_isa_avx512_core)) ==
         static_cast<unsigned>(dnnl_cpu_isa_avx512_core);
}

std::string RuntimeName() {
  switch (dnnl_version()->cpu_runtime) {
    case DNNL_RUNTIME_SEQ:
      return "seq";
    case DNNL_RUNTIME_OMP:
      return "omp";
    case DNNL_RUNTIME_TBB:
      return "tbb";
    case DNNL_RUNTIME_THREADPOOL:
      return "threadpool";
    default:
      return "other";
  }
}

std::optional<dnnl::memory::data_type> DataType(plugin::DType dtype) {
  if (dtype == plugin::kF32) return dnnl::memory::data_type::f32;
  if (dtype == plugin::kBF16) return dnnl::memory::data_type::bf16;
  if (dtype == plugin::kI8) return dnnl::memory::data_type::s8;
  if (dtype == plugin::kI32) return dnnl::memory::data_type::s32;
  return std::nullopt;
}

bool IsComputed(plugin::DType dtype) {
  return dtype == plugin::kF32 || dtype == plugin::kBF16;
}

Md MdOf(const plugin::Tensor& tensor) {
  const bool is_u8 = tensor.dtype == plugin::kU8 || tensor.dtype == plugin::kBool8;
  return {tensor.shape, is_u8 ? dnnl::memory::data_type::u8 : *DataType(tensor.dtype), tensor.strides};
}

std::string WithFlush(std::string contract, const plugin::OpDesc& op) {
  return std::move(contract) + (op.inputs()[0].dtype == plugin::kBF16 ? ";ftz=out" : "");
}

dnnl::memory::data_type DataTypeFor(const char* op, plugin::DType dtype) {
  if (const auto type = DataType(dtype)) return *type;
  throw plugin::Unsupported("{} in {} is not offered: oneDNN on CPUs computes f32, bf16 and i8-i8-i32", op,
                            plugin::Name(dtype));
}

std::string CleanName(const char* impl_info) {
  std::string name = impl_info;
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 || c == '_' || c == '.' ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return name;
}

}  // namespace onednn
