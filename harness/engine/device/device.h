// SPDX-License-Identifier: Apache-2.0
// A device of a backend, reached through a worker process of its own, or the reason why there is none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/exec/plugin_discovery.h"
#include "harness/exec/session.h"
#include "harness/plan/options.h"

namespace assay {

struct Device {
  std::string backend;       // name shown and selected by
  std::string path, origin;  // of the plugin
  // Option and value that load it: "--kernels", PATH. None: it is installed.
  std::vector<std::string> plugin_words;
  BackendDescription description;  // empty when `problem` is not
  DeviceDescription device;
  std::string sandbox;  // of its worker: Worker::sandbox()
  std::string hidden;   // from it: Worker::hidden()
  uint32_t device_index = 0;
  std::string selector;  // what --backend must say to get it alone: "cuda", or "cuda:1" where there are several
  std::string pool;      // the name of those that it shares its cases with (PoolDevices); "": none
  std::string problem;   // why it cannot be used; "" when it can
  FailureKind problem_kind = FailureKind::kUnavailable;
  std::shared_ptr<Session> session;  // of this device alone; null when there is a problem
  // Extra workers of the device, for judging without timing. Only for the host's processor, which has room for several;
  // of other devices this is unknown. Never for kernel files, whose imports take long and much memory.
  std::vector<std::shared_ptr<Session>> beside;

  // Name in the plan: that of the pool, if the device is in one.
  const std::string& PlannedName() const { return pool.empty() ? device.name : pool; }
};

// Every plugin candidate and device, usable or not; --backend and --device select. In the order of --backend; without
// it "cpu" first, then by name, devices as the plugin lists them. Errors: a plugin that the user named cannot be tried
// or, unless `refuse_no_plugin` is off, is none; a --backend or --device that does not exist. `absent` gets the
// required backends that are not usable, each with the reason, whether or not --backend selects them.
Result<std::vector<Device>> OpenDevices(const BackendOptions& options, std::vector<std::string>& absent);

// Whether the user named it, and it is no plugin, or no file of kernels that can be imported.
bool IsNoPlugin(const Device& device);

// The devices of one plugin, each with a session of its own. Devices of one name are numbered: "H200 #0", "H200 #1".
std::vector<Device> OpenPlugin(const PluginCandidate& candidate, const BackendOptions& options);

// Returns the device marked as unusable, so that nothing more is sent to it.
Device SetAside(Device device, const std::string& why);

// Includes the libraries that its workers have loaded so far.
Json DescribeDevice(const Device& device);

// Lists devices whose workers loaded a compute library that they do not name; "" if there are none.
std::string UnnamedLibrariesText(const std::vector<Device>& devices);

// Lists devices with a worker that crashed on shutdown; "" if there are none.
std::string DescribeCrashesAtEnd(const std::vector<Device>& devices);

inline constexpr const char* kNoPlugin =
    "no backend plugin was found: build or install one beside the program (lib/assay/plugins), or give --plugin PATH "
    "or --kernels FILE.py";

}  // namespace assay
