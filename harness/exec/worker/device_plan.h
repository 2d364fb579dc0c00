// SPDX-License-Identifier: Apache-2.0
// Worker side: a prepared implementation with the sets of operands that it runs on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "harness/exec/shared_memory.h"
#include "harness/exec/wire/protocol.h"
#include "harness/exec/worker/error_text.h"

namespace assay {

// Memory of sets that were bound together: room for the images of all uploads, and for the downloads of one set or of
// all.
struct SharedImages {
  SharedMemory upload, download;
};

// The operands of one execution: allocations on the device and the images in shared memory.
class OperandSet {
 public:
  OperandSet(const assay_backend_api& api, assay_device* device) : api_(&api), device_(device) {}
  OperandSet(const OperandSet&) = delete;
  OperandSet& operator=(const OperandSet&) = delete;
  ~OperandSet();

  // `images`: of each operand, the inputs first. They begin at `at` in what is uploaded.
  Json Bind(const Json& images, size_t inputs, std::shared_ptr<SharedImages> memory, uint64_t at);
  // Bytes of an operand's image, which it has.
  Json Upload(size_t operand, uint64_t at, uint64_t bytes);
  // The operands [first, end), as bound, to images that begin at `to`; adds the seconds of each.
  Json Download(size_t first, size_t end, uint64_t to, Json& seconds);
  const assay_args& args() const { return args_; }

 private:
  struct Image {
    assay_buffer* buffer = nullptr;  // of an output in place: that of its input
    bool owned = false;
    uint64_t at = 0;  // in the set's part of the shared memory
    uint64_t bytes = 0;
    assay_tensor_arg arg{};
  };
  const assay_backend_api* api_;
  assay_device* device_;
  std::shared_ptr<SharedImages> memory_;
  uint64_t at_ = 0;
  std::vector<Image> images_;  // inputs, then the outputs
  std::vector<const assay_tensor_arg*> arg_pointers_;
  assay_args args_{};
};

class DevicePlan {
 public:
  DevicePlan(const assay_backend_api& api, assay_device* device, assay_plan* plan)
      : api_(&api), device_(device), plan_(plan) {}
  DevicePlan(const DevicePlan&) = delete;
  DevicePlan& operator=(const DevicePlan&) = delete;
  ~DevicePlan();

  Json Answer(const std::string& call, const Json& request, std::vector<UniqueFd> fds);

 private:
  Json Bind(const Json& request, std::vector<UniqueFd> fds);
  Json Upload(const Json& pieces);
  Json Download(const Json& pieces);
  Json Execute(const Json& request);
  Json ExecuteByHostClock(assay_batch& batch);

  const assay_backend_api* api_;
  assay_device* device_;
  assay_plan* plan_;
  std::vector<std::unique_ptr<OperandSet>> sets_;
};

}  // namespace assay
