// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/vkfft.h"

#include "backends/common/status.h"

#ifdef ASSAY_HAVE_VKFFT
#include <vkFFT.h>

namespace opencl {
namespace {

class VkFftStep final : public Step {
 public:
  VkFftStep(Device& device, const FftField& field)
      : field_(field), context_(device.context()), id_(device.traits().id), queue_(device.queue()) {
    VkFFTConfiguration configuration{};
    // VkFFT counts axes from the contiguous one; extents of 1 are no axes.
    for (size_t axis = 3; axis-- > 0;) {
      if (field.n[axis] > 1) configuration.size[configuration.FFTdim++] = static_cast<uint64_t>(field.n[axis]);
    }
    bytes_ = static_cast<uint64_t>(field.batch * field.n[0] * field.n[1] * field.n[2]) * (field.wide ? 16 : 8);
    configuration.numberBatches = static_cast<uint64_t>(field.batch);
    configuration.device = &id_, configuration.context = &context_;
    configuration.buffer = &field_.memory, configuration.bufferSize = &bytes_;
    configuration.doublePrecision = field.wide ? 1 : 0;
    configuration.useLUT = 1;                // twiddles from a table of double precision, not from the device's sine
    configuration.fixMaxRadixBluestein = 2;  // Bluestein's padded length is a power of two, as its error bound assumes
    (field.inverse ? configuration.makeInversePlanOnly : configuration.makeForwardPlanOnly) = 1;
    const VkFFTResult result = initializeVkFFT(&application_, configuration);
    if (result == VKFFT_ERROR_MALLOC_FAILED || result == VKFFT_ERROR_FAILED_TO_ALLOCATE_MEMORY) {
      throw plugin::Error(ASSAY_OUT_OF_MEMORY, fmt::format("VkFFT could not allocate memory ({})", int{result}));
    }
    if (result != VKFFT_SUCCESS) {
      throw plugin::Unsupported("VkFFT {} refuses {} x {} x {} points on {}: VkFFTResult {}", VkFftVersion(),
                                field.n[0], field.n[1], field.n[2], device.traits().name, int{result});
    }
  }
  // Owns an application that must be deleted exactly once.
  VkFftStep(const VkFftStep&) = delete;
  VkFftStep& operator=(const VkFftStep&) = delete;
  ~VkFftStep() override { deleteVkFFT(&application_); }

  void Enqueue(cl_command_queue, const plugin::Args&, cl_event*) override {
    VkFFTLaunchParams launch{};
    launch.commandQueue = &queue_, launch.buffer = &field_.memory;
    const VkFFTResult result = VkFFTAppend(&application_, field_.inverse ? 1 : -1, &launch);
    if (result != VKFFT_SUCCESS) throw plugin::Failure("VkFFTAppend failed with VkFFTResult {}", int{result});
  }

 private:
  FftField field_;
  cl_context context_;
  cl_device_id id_;
  cl_command_queue queue_;
  uint64_t bytes_ = 0;
  VkFFTApplication application_{};
};

}  // namespace

std::string VkFftVersion() {
  const int version = VkFFTGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::unique_ptr<Step> MakeVkFftStep(Device& device, const FftField& field) {
  return std::make_unique<VkFftStep>(device, field);
}

}  // namespace opencl

#else

namespace opencl {

std::string VkFftVersion() {
  return "";
}

std::unique_ptr<Step> MakeVkFftStep(Device&, const FftField&) {
  throw plugin::Unsupported("this plugin was built without VkFFT");
}

}  // namespace opencl

#endif
