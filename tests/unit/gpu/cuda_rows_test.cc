// SPDX-License-Identifier: Apache-2.0
// Offers and contracts of NVIDIA's libraries, which can be asked for without a device.
#include <gtest/gtest.h>

#include "backends/common/status.h"
#include "backends/cuda/cudnn_library.h"
#include "backends/cuda/rows.h"
#include "tests/unit/backends/matmul_case.h"

namespace cuda_backend {
namespace {

using plugin_test::kF16;
using plugin_test::kF32;
using plugin_test::kI32;
using plugin_test::kI8;
using plugin_test::MatmulArgs;

gpu::Traits Sm(int major, int minor) {
  gpu::Traits traits;
  traits.name = "a device", traits.major = major, traits.minor = minor, traits.unit_accumulator = "acc=tc<25,16>";
  return traits;
}

// "name: contract; ...", or the reason why nothing is offered.
std::string Offered(std::span<const gpu::Row> rows, plugin_test::Op op, const gpu::Traits& traits = Sm(9, 0)) {
  try {
    std::string text;
    for (const auto& one : plugin::QueryTable<gpu::Device>(rows, plugin::OpDesc(op.raw()), traits)) {
      text += (text.empty() ? "" : "; ") + one.name + ": " + one.contract;
    }
    return text;
  } catch (const plugin::Error& error) {
    EXPECT_EQ(error.status(), ASSAY_UNSUPPORTED);
    return error.what();
  }
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

#define SKIP_WITHOUT(text) \
  if (Has(text, "cannot be loaded")) GTEST_SKIP() << text

TEST(CublasLtRows, OffersIntegersAsIntegerTensorCoresTakeThem) {
  MatmulArgs c{.in = kI8, .out = kI32, .m = 5, .n = 8, .k = 12, .transb = true};
  SKIP_WITHOUT(Offered(CublasLtRows(), c.Description()));
  EXPECT_EQ(Offered(CublasLtRows(), c.Description()), "cublaslt: acc=i32");
  c.beta = 3;
  EXPECT_EQ(Offered(CublasLtRows(), c.Description()), "cublaslt: acc=i32");
  c.beta = 0.5;
  EXPECT_TRUE(Has(Offered(CublasLtRows(), c.Description()), "an integer beta only"));
  c.beta = 0, c.bias = true;
  EXPECT_TRUE(Has(Offered(CublasLtRows(), c.Description()), "no bias"));
  c.bias = false, c.transb = false;
  EXPECT_TRUE(Has(Offered(CublasLtRows(), c.Description()), "contiguous along k"));
  c.transb = true, c.k = 13;
  EXPECT_TRUE(Has(Offered(CublasLtRows(), c.Description()), "multiples of 4"));
  c.k = 12, c.strided = true;
  EXPECT_FALSE(Has(Offered(CublasLtRows(), c.Description()), "acc=i32")) << "rows that begin anywhere";
}

TEST(CublasLtRows, DeclareWhatTheUnitsDo) {
  const auto matmul = [](plugin_test::Type type) {
    return MatmulArgs{.in = type, .out = kF32, .m = 8, .n = 8, .k = 8}.Description();
  };
  SKIP_WITHOUT(Offered(CublasLtRows(), matmul(kF32)));
  EXPECT_EQ(Offered(CublasLtRows(), matmul(kF16)), "cublaslt: in=exact;acc=tc<25,16>");
  EXPECT_EQ(Offered(CublasLtRows(), matmul(kF32)), "cublaslt: f32; cublaslt-tf32: in=tf32rn;acc=tc<25,8>");
  EXPECT_EQ(Offered(CublasLtRows(), matmul(kF32), Sm(8, 0)), "cublaslt: f32; cublaslt-tf32: in=tf32rn;acc=tc<24,4>");
}

assay_status StatusOfCudnn(cudnnStatus_t status) {
  try {
    Cudnn::Check(status, "a call");
  } catch (const plugin::Error& error) {
    EXPECT_TRUE(Has(error.what(), "a call"));
    return error.status();
  }
  return ASSAY_OK;
}

TEST(CudnnCheck, TellsWhatIsNotOfferedFromWhatFailed) {
  if (const std::string& reason = Cudnn::Get().why_not(); !reason.empty()) GTEST_SKIP() << reason;
  EXPECT_EQ(StatusOfCudnn(CUDNN_STATUS_SUCCESS), ASSAY_OK);
  EXPECT_EQ(StatusOfCudnn(CUDNN_STATUS_NOT_SUPPORTED), ASSAY_UNSUPPORTED);
  EXPECT_EQ(StatusOfCudnn(CUDNN_STATUS_NOT_SUPPORTED_SHAPE), ASSAY_UNSUPPORTED);
  EXPECT_EQ(StatusOfCudnn(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED), ASSAY_OUT_OF_MEMORY);
  // The runtime is asked for its own error first; where there is no device, that is what it answers once.
  const assay_status failed = StatusOfCudnn(CUDNN_STATUS_BAD_PARAM);
  EXPECT_TRUE(failed == ASSAY_ERROR || failed == ASSAY_UNAVAILABLE) << failed;
}

}  // namespace
}  // namespace cuda_backend
