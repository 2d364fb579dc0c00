// SPDX-License-Identifier: Apache-2.0
// Facts about the loaded oneDNN, and conversion from the plugin's types to oneDNN's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/common/op_desc.h"
#include "backends/common/status.h"
#include "backends/onednn/compat.h"

namespace onednn {

std::string LibraryVersion();  // "oneDNN 2.6.3"
unsigned IsaBits();
std::string IsaName();       // the effective instruction set, "avx512_core_bf16"
bool HasFusedMultiplyAdd();  // of the same
bool HasBf16();              // of the same: kernels want AVX-512
std::string RuntimeName();   // "omp", "tbb", "seq", "threadpool"

std::optional<dnnl::memory::data_type> DataType(plugin::DType dtype);
bool IsComputed(plugin::DType dtype);  // f32 and bf16, in which all its primitives compute
// The operand as it lies, in one of DataType(), u8 or bool.
Md MdOf(const plugin::Tensor& tensor);
// The contract, with ftz=out where the first operand is bf16: the conversion to it flushes.
std::string WithFlush(std::string contract, const plugin::OpDesc& op);
// Throws Unsupported in the name of `op`, a matmul or conv.
dnnl::memory::data_type DataTypeFor(const char* op, plugin::DType dtype);

// "brg:avx512_core" -> "brg-avx512_core": a name that the ABI allows.
std::string CleanName(const char* impl_info);

// Runs `make`, turning oneDNN's refusal into Unsupported that names `what`.
template <class Make>
auto OrUnsupported(const std::string& what, Make&& make) {
  try {
    return make();
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) throw plugin::Error(ASSAY_OUT_OF_MEMORY, e.what());
    if (e.status != dnnl_unimplemented && e.status != dnnl_invalid_arguments) throw;
    throw plugin::Unsupported("{} on {} does not offer {}: {}", LibraryVersion(), IsaName(), what, e.what());
  }
}

}  // namespace onednn
