// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker/device_plan.h"

#include <chrono>
#include <limits>
#include <span>

#include "harness/core/base/profile.h"
#include "harness/exec/processor.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

OperandSet::~OperandSet() {
  for (const Image& image : images_) {
    if (image.owned && image.buffer != nullptr) api_->buffer_free(device_, image.buffer);
  }
}

Json OperandSet::Bind(const Json& images, size_t inputs, std::shared_ptr<SharedImages> memory, uint64_t at) {
  memory_ = std::move(memory);
  at_ = at;
  images_.resize(images.size());
  for (size_t i = 0; i < images_.size(); ++i) {
    const Json& json = images[i];
    Image& image = images_[i];
    image.at = json.at("at");
    image.bytes = json.at("bytes");
    const size_t home = json.at("home");
    image.owned = home == i;
    if (image.owned) {
      ErrorText error;
      const assay_status status = api_->buffer_alloc(device_, image.bytes, &image.buffer, error.out());
      if (status != ASSAY_OK) return PluginFailed(status, "buffer_alloc", error);
      if (image.buffer == nullptr) return Failed(ASSAY_ERROR, "buffer_alloc returned ASSAY_OK and a NULL buffer");
    } else {
      image.buffer = images_.at(home).buffer;
    }
    image.arg = {sizeof image.arg, image.buffer, json.at("offset")};
    arg_pointers_.push_back(&image.arg);
  }
  args_ = {sizeof args_, inputs, arg_pointers_.data(), images_.size() - inputs, arg_pointers_.data() + inputs, 0};
  return Ok();
}

Json OperandSet::Upload(size_t operand, uint64_t at, uint64_t bytes) {
  const Image& image = images_.at(operand);
  ErrorText error;
  const std::byte* const from = memory_->upload.bytes().data() + at_ + image.at + at;
  const assay_status status = api_->buffer_upload(device_, image.buffer, at, from, bytes, error.out());
  return status == ASSAY_OK ? Ok() : PluginFailed(status, "buffer_upload", error);
}

Json OperandSet::Download(size_t first, size_t end, uint64_t to, Json& seconds) {
  std::byte* const images = memory_->download.bytes().subspan(to).data();
  for (const Image& image : std::span(images_).subspan(first, end - first)) {
    ErrorText error;
    const Clock::time_point begin = Clock::now();
    const assay_status status =
        api_->buffer_download(device_, image.buffer, 0, images + image.at, image.bytes, error.out());
    if (status != ASSAY_OK) return PluginFailed(status, "buffer_download", error);
    seconds.push_back(SecondsSince(begin));
  }
  return Ok();
}

DevicePlan::~DevicePlan() {
  api_->plan_destroy(plan_);
  sets_.clear();
}

Json DevicePlan::Answer(const std::string& call, const Json& request, std::vector<UniqueFd> fds) {
  if (call == "bind") return Bind(request, std::move(fds));
  if (call == "execute") return Execute(request);
  if (call == "upload") return Upload(request.at("pieces"));
  if (call == "download") return Download(request.at("pieces"));
  return Failed(ASSAY_ERROR, "worker: unknown call '" + call + "'");
}

Json DevicePlan::Bind(const Json& request, std::vector<UniqueFd> fds) {
  if (fds.size() != 2) return Failed(ASSAY_ERROR, "worker: bind came without its two descriptors");
  const uint64_t sets = request.at("sets"), room = request.at("room"), size = request.at("size");
  Result<SharedMemory> upload = SharedMemory::Map(std::move(fds[0]), sets * size, Access::kReadOnly);
  if (!upload) return Failed(ASSAY_ERROR, upload.error().message);
  Result<SharedMemory> download = SharedMemory::Map(std::move(fds[1]), room * size, Access::kReadWrite);
  if (!download) return Failed(ASSAY_ERROR, download.error().message);
  auto memory = std::make_shared<SharedImages>();
  memory->upload = std::move(*upload), memory->download = std::move(*download);
  for (uint64_t i = 0; i < sets; ++i) {
    auto set = std::make_unique<OperandSet>(*api_, device_);
    Json reply = set->Bind(request.at("images"), request.at("inputs"), memory, i * size);
    if (reply.at("status") != ASSAY_OK) return reply;
    sets_.push_back(std::move(set));
  }
  return Ok();
}

// Each: set, operand, where its bytes begin in the image, and how many. Answers with the seconds of each.
Json DevicePlan::Upload(const Json& pieces) {
  Json seconds = Json::array();
  for (const Json& piece : pieces) {
    const Clock::time_point begin = Clock::now();
    Json reply = sets_.at(piece[0])->Upload(piece[1], piece[2], piece[3]);
    if (reply.at("status") != ASSAY_OK) return reply;
    seconds.push_back(SecondsSince(begin));
  }
  return {{"status", ASSAY_OK}, {"seconds", std::move(seconds)}};
}

// Each: set, its first operand and the one behind its last, and where the set's images begin in what comes back.
Json DevicePlan::Download(const Json& pieces) {
  Json seconds = Json::array();
  for (const Json& piece : pieces) {
    Json reply = sets_.at(piece[0])->Download(piece[1], piece[2], piece[3], seconds);
    if (reply.at("status") != ASSAY_OK) return reply;
  }
  return {{"status", ASSAY_OK}, {"seconds", std::move(seconds)}};
}

Json DevicePlan::Execute(const Json& request) {
  std::vector<const assay_args*> args;
  for (const Json& set : request.at("sets")) args.push_back(&sets_.at(set)->args());
  // NaN stays where the plugin writes nothing, and is refused by the host.
  std::vector<double> seconds(args.size(), std::numeric_limits<double>::quiet_NaN());
  assay_batch batch{};
  batch.struct_size = sizeof batch;
  batch.count = args.size();
  batch.args = args.data();
  batch.cache = request.at("cache");
  batch.seconds = seconds.data();
  MoveToProcessor(request.at("processor"));
  const int64_t processor = CurrentProcessor();
  const Nanoseconds begin = NowNanoseconds();
  if (args.empty()) {
    // A round trip: what a call takes where the plugin has no part in it.
  } else if (api_->execute_batch == nullptr) {
    if (Json failure = ExecuteByHostClock(batch); failure.at("status") != ASSAY_OK) return failure;
  } else {
    ErrorText error;
    const assay_status status = api_->execute_batch(plan_, &batch, error.out());
    if (status != ASSAY_OK) return PluginFailed(status, "execute_batch", error);
  }
  return {{"status", ASSAY_OK},
          {"seconds", seconds},
          {"begin_ns", begin},
          {"processor", processor},
          {"call_s", static_cast<double>(NowNanoseconds() - begin) * 1e-9},
          {"clock_is_device", batch.clock_is_device},
          {"cache_was_flushed", batch.cache_was_flushed}};
}

// The cache of an unknown device cannot be flushed from here: cache_was_flushed stays 0.
Json DevicePlan::ExecuteByHostClock(assay_batch& batch) {
  for (uint64_t i = 0; i < batch.count; ++i) {
    ErrorText error;
    const Clock::time_point begin = Clock::now();
    const assay_status status = api_->execute(plan_, batch.args[i], error.out());
    batch.seconds[i] = SecondsSince(begin);
    if (status != ASSAY_OK) return PluginFailed(status, "execute", error);
  }
  return Ok();
}

}  // namespace assay
