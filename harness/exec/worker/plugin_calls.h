// SPDX-License-Identifier: Apache-2.0
// Worker side: turns the host's messages into calls of the plugin. Every answer carries "status" (an assay_status)
// and, when it is not ASSAY_OK, "text".
//   load{plugin}                           describe{} -> backend, devices | unavailable
//   query{device,problem}                  -> implementations
//   capabilities{device}                   -> lines: op, code, bits, features of each
//   prepare{device,problem,implementation} -> plan, seconds, begin_ns; where the plugin tells, workspace_bytes,
//                                             algorithm, kernel
//   bind{plan,sets,room,size,images}, 2 fds  allocates sets of operands and maps their upload and download memory, in
//                                          which `room` of them have images
//   upload, download{plan,pieces}          -> seconds of each operand of the pieces
//   execute{plan,sets,cache,processor}     -> seconds, begin_ns, call_s, processor, clock_is_device, cache_was_flushed;
//                                             `sets` has the number of each execution's set, in their order
//   release{plan}
//   check{plugin,check,problems}           -> kind, finding (plugin_check.h); loads the plugin by itself
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "harness/exec/wire/protocol.h"
#include "harness/exec/worker/device_plan.h"

namespace assay {

class PluginCalls {
 public:
  // `own_plugin`: what is loaded instead of what the host names; "": nothing.
  explicit PluginCalls(std::string own_plugin) : own_plugin_(std::move(own_plugin)) {}
  ~PluginCalls();
  PluginCalls(const PluginCalls&) = delete;
  PluginCalls& operator=(const PluginCalls&) = delete;

  Json Answer(const Json& request, std::vector<UniqueFd> fds);

 private:
  Json Load(const Json& request);
  Json Close();  // plans, then devices; what is asked next opens one anew
  Json Describe();
  Json Query(const Json& request);
  Json Capabilities(const Json& request);
  Json Prepare(const Json& request);

  // nullptr: `failure` says why.
  assay_device* Open(uint32_t index, Json& failure);

  std::string own_plugin_;
  const assay_backend_api* api_ = nullptr;
  std::map<uint32_t, assay_device*> devices_;
  std::map<uint64_t, DevicePlan> plans_;
  uint64_t next_plan_ = 1;
};

}  // namespace assay
