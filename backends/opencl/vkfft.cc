// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/vkfft.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "backends/common/status.h"

namespace opencl {
namespace {

constexpr int64_t kGroupPoints = 1024;  // that keep a work-group busy

// Transforms of a work-group: several only where there is one axis, and that is short.
int64_t GroupBatch(const std::array<int64_t, 3>& n) {
  if (n[0] > 1 || n[1] > 1) return 1;
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(kGroupPoints / n[2], 1))));
}

}  // namespace

int64_t FieldBatch(const std::array<int64_t, 3>& n, int64_t batch) {
  const int64_t group = GroupBatch(n);
  return (batch + group - 1) / group * group;
}

}  // namespace opencl

#ifdef ASSAY_HAVE_VKFFT
#include <vkFFT.h>

namespace opencl {
namespace {

// VkFFT numbers what it does not offer from 3000, and failing calls of the driver from 4000 on.
[[noreturn]] void ThrowRefusal(VkFFTResult result, const FftField& field, const Traits& traits) {
  const std::string what = fmt::format("{} x {} x {} points on {}: VkFFTResult {}", field.n[0], field.n[1], field.n[2],
                                       traits.name, int{result});
  if (result >= 3000 && result < 4000) throw plugin::Unsupported("VkFFT {} refuses {}", VkFftVersion(), what);
  const bool memory = result == VKFFT_ERROR_MALLOC_FAILED || result == VKFFT_ERROR_FAILED_TO_ALLOCATE ||
                      result == VKFFT_ERROR_FAILED_TO_ALLOCATE_MEMORY || result == VKFFT_ERROR_FAILED_TO_CREATE_BUFFER;
  throw plugin::Error(memory ? ASSAY_OUT_OF_MEMORY : ASSAY_ERROR,
                      fmt::format("VkFFT {} fails to prepare {}; {}", VkFftVersion(), what,
                                  memory ? "free memory of the device or of the host"
                                         : "vkFFT.h says what failed; see the driver's log"));
}

// Prepares of one case ask for the same transform several times, beside those of other batches of its relations. A
// transform may hold a workspace as large as its field, or twice that.
constexpr size_t kMostKept = 4;
constexpr uint64_t kMostKeptBytes = uint64_t{16} << 20;  // of fields

VkFFTConfiguration ConfigurationOf(const FftField& field, int64_t group, int64_t transforms) {
  VkFFTConfiguration configuration{};
  // VkFFT counts axes from the contiguous one; extents of 1 are no axes.
  for (size_t axis = 3; axis-- > 0;) {
    if (field.n[axis] > 1) configuration.size[configuration.FFTdim++] = static_cast<uint64_t>(field.n[axis]);
  }
  configuration.numberBatches = static_cast<uint64_t>(transforms / group);
  // VkFFT writes the batch of a single axis into its kernel. With the group as a second axis that is not transformed
  // (it takes none of extent 1), and otherwise beside several axes, the kernel depends only on whether there is more
  // than one batch, and the batch is how many are launched.
  if (group > 1) {
    configuration.size[configuration.FFTdim++] = static_cast<uint64_t>(group);
    configuration.omitDimension[1] = 1;
  }
  configuration.doublePrecision = field.wide ? 1 : 0;
  configuration.useLUT = 1;                // twiddles from a table of double precision, not from the device's sine
  configuration.fixMaxRadixBluestein = 2;  // Bluestein's padded length is a power of two, as its error bound assumes
  configuration.makeForwardPlanOnly = 1;
  return configuration;
}

}  // namespace

// Owns an application that must be deleted exactly once.
class FftTransform {
 public:
  FftTransform(Device& device, const FftField& field)
      : n_(field.n),
        transforms_(FieldBatch(field.n, field.batch)),
        wide_(field.wide),
        memory_(field.memory),
        context_(device.context()),
        id_(device.traits().id),
        queue_(device.queue()) {
    VkFFTConfiguration configuration = ConfigurationOf(field, GroupBatch(n_), transforms_);
    bytes_ = static_cast<uint64_t>(transforms_ * n_[0] * n_[1] * n_[2]) * (wide_ ? 16 : 8);
    const uint64_t launched = configuration.FFTdim > 1 ? configuration.numberBatches : 0;
    if (launched == 1) configuration.numberBatches = 2;
    configuration.device = &id_, configuration.context = &context_;
    configuration.buffer = &memory_, configuration.bufferSize = &bytes_;
    const VkFFTResult result = initializeVkFFT(&application_, configuration);
    if (result != VKFFT_SUCCESS) ThrowRefusal(result, field, device.traits());
    if (launched > 0) application_.configuration.numberBatches = launched;
  }
  FftTransform(const FftTransform&) = delete;
  FftTransform& operator=(const FftTransform&) = delete;
  ~FftTransform() { deleteVkFFT(&application_); }

  bool Serves(const FftField& field) const {
    return field.n == n_ && FieldBatch(field.n, field.batch) == transforms_ && field.wide == wide_;
  }

  uint64_t bytes() const { return bytes_; }

  // VkFFT reads the buffer behind the pointer that it was given at each launch.
  void Enqueue(cl_mem memory) {
    memory_ = memory;
    VkFFTLaunchParams launch{};
    launch.commandQueue = &queue_, launch.buffer = &memory_;
    const VkFFTResult result = VkFFTAppend(&application_, -1, &launch);
    if (result != VKFFT_SUCCESS) throw plugin::Failure("VkFFTAppend failed with VkFFTResult {}", int{result});
  }

 private:
  std::array<int64_t, 3> n_;
  int64_t transforms_;
  bool wide_;
  cl_mem memory_;
  cl_context context_;
  cl_device_id id_;
  cl_command_queue queue_;
  uint64_t bytes_ = 0;
  VkFFTApplication application_{};
};

namespace {

class VkFftStep final : public Step {
 public:
  VkFftStep(std::shared_ptr<FftTransform> transform, cl_mem memory)
      : transform_(std::move(transform)), memory_(memory) {}

  void Enqueue(cl_command_queue, const plugin::Args&, cl_event*) override { transform_->Enqueue(memory_); }
  std::string Name() const override { return "VkFFT"; }

 private:
  std::shared_ptr<FftTransform> transform_;
  cl_mem memory_;
};

// Makes a transform; drops the cached ones and tries again when memory is short.
std::shared_ptr<FftTransform> MakeTransform(Device& device, const FftField& field) {
  try {
    return std::make_shared<FftTransform>(device, field);
  } catch (const plugin::Error& error) {
    if (error.status() != ASSAY_OUT_OF_MEMORY || device.kept_transforms().empty()) throw;
  }
  device.kept_transforms().clear();
  return std::make_shared<FftTransform>(device, field);
}

}  // namespace

std::string VkFftVersion() {
  const int version = VkFFTGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::unique_ptr<Step> MakeVkFftStep(Device& device, const FftField& field) {
  KeptTransforms& kept = device.kept_transforms();
  const auto found = std::ranges::find_if(kept, [&](const auto& transform) { return transform->Serves(field); });
  std::shared_ptr<FftTransform> transform;
  if (found != kept.end()) {
    transform = *found;
    kept.erase(found);
  } else {
    transform = MakeTransform(device, field);
  }
  kept.insert(kept.begin(), transform);  // the last that is used goes first
  const auto bytes = [&] {
    return std::accumulate(kept.begin(), kept.end(), uint64_t{0},
                           [](uint64_t sum, const auto& one) { return sum + one->bytes(); });
  };
  while (kept.size() > kMostKept || (!kept.empty() && bytes() > kMostKeptBytes)) kept.pop_back();
  return std::make_unique<VkFftStep>(std::move(transform), field.memory);
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
