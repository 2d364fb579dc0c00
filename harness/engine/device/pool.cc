// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

namespace assay {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

// Name that the plugin gives, without the number that assay adds to devices of one name.
const std::string& GivenName(const Device& device) {
  return device.description.devices.at(device.device_index).name;
}

// Properties that a result, its time or its memory may depend on.
Facts FactsOf(const Device& device) {
  const DeviceDescription& d = device.device;
  return {{"name", GivenName(device)},
          {"driver", d.driver},
          {"type", std::to_string(d.type)},
          {"memory_bytes", std::to_string(d.memory_bytes)},
          {"properties", d.properties}};
}

// "x:1 has the driver '2', x:0 '1'"
void NoteDifferences(const Device& first, const Device& other, std::vector<std::string>& differences) {
  const Facts of_first = FactsOf(first), of_other = FactsOf(other);
  for (size_t i = 0; i < of_first.size(); ++i) {
    const auto& [what, value] = of_first[i];
    if (value == of_other[i].second) continue;
    differences.push_back(
        fmt::format("{} has the {} '{}', {} '{}'", other.selector, what, of_other[i].second, first.selector, value));
  }
}

}  // namespace

Status PoolDevices(std::vector<Device>& devices) {
  std::map<std::string, std::vector<Device*>> backends;
  for (Device& device : devices) {
    if (device.problem.empty()) backends[device.backend].push_back(&device);
  }
  for (const auto& [backend, members] : backends) {
    std::vector<std::string> differences;
    for (const Device* other : members) NoteDifferences(*members.front(), *other, differences);
    if (!differences.empty()) {
      return UsageError(
          fmt::format("--devices pool: the devices of {} are not alike: {}. Choose equal ones with --backend "
                      "NAME:INDEX or --device, or leave out --devices pool to judge each by itself",
                      backend, fmt::join(differences, "; ")));
    }
    if (members.size() < 2) continue;
    for (Device* member : members) member->pool = GivenName(*member);
  }
  return {};
}

std::vector<size_t> QueueOfEach(const std::vector<Device>& devices) {
  std::vector<size_t> queues;
  std::map<std::string, size_t> of_pools;  // by backend, which has one at most
  size_t next = 0;
  for (const Device& device : devices) {
    if (device.pool.empty()) {
      queues.push_back(next++);
      continue;
    }
    const auto [queue, is_new] = of_pools.try_emplace(device.backend, next);
    next += is_new;
    queues.push_back(queue->second);
  }
  return queues;
}

}  // namespace assay
