// SPDX-License-Identifier: Apache-2.0
// A oneDNN that writes past its output, as jit_1x1:avx512_core_amx_bf16 does before 3.4: this program's own
// dnnl_primitive_execute stands before the library's when the plugin is loaded, and writes a few bytes more.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "tests/unit/backends/conv_case.h"

namespace {

int64_t stray_at = 0;  // from the end of a convolution's output; negative: from its first byte; 0: nowhere

bool IsConvolution(const_dnnl_primitive_t primitive) {
  return dnnl::primitive(const_cast<dnnl_primitive_t>(primitive), true).get_kind() ==
         dnnl::primitive::kind::convolution;
}

void WriteBeside(dnnl_memory_t memory) {
  const dnnl::memory wrapped(memory, true);
  auto* data = static_cast<char*>(wrapped.get_data_handle());
  (stray_at < 0 ? data : data + wrapped.get_desc().get_size() - 1)[stray_at] ^= 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive,
                                                                                       dnnl_stream_t stream, int count,
                                                                                       const dnnl_exec_arg_t* args) {
  static const auto real =
      reinterpret_cast<decltype(&dnnl_primitive_execute)>(dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  const dnnl_status_t status = real(primitive, stream, count, args);
  if (stray_at == 0 || !IsConvolution(primitive)) return status;
  for (int i = 0; i < count; ++i) {
    if (args[i].arg == DNNL_ARG_DST) WriteBeside(args[i].memory);
  }
  return status;
}

namespace plugin_test {
namespace {

// The error of one execution, "" when it succeeds.
std::string ErrorOf(const std::string& implementation) {
  Op op = ConvArgs{.c = 16, .o = 16, .i = {9, 11}, .k = {1, 1}}.Description();
  Plugin& plugin = PluginAt(ASSAY_ONEDNN_PLUGIN);
  return plugin.TryRun(op, implementation, RandomInputs(op));
}

TEST(OneDnnStrayWrite, IsNamed) {
  Op op = ConvArgs{.c = 16, .o = 16, .i = {9, 11}, .k = {1, 1}}.Description();
  int ran = 0;
  for (const auto& implementation : PluginAt(ASSAY_ONEDNN_PLUGIN).Offered(op)) {
    if (!implementation.name.ends_with("-reordered")) continue;  // others write to the case's own output
    SCOPED_TRACE(implementation.name);
    for (const int64_t at : {1, -1}) {
      stray_at = at;
      const std::string text = ErrorOf(implementation.name);
      for (const std::string& part : {std::string("oneDNN "), "kernel " + implementation.name,
                                      std::string("the copy of the output"), std::string("1 bytes changed")}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
      }
    }
    stray_at = 0;
    EXPECT_EQ(ErrorOf(implementation.name), "");
    if (++ran == 2) break;
  }
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace plugin_test
