// SPDX-License-Identifier: Apache-2.0
// ceilings.json: each rate with its origin, whether it bounds what can be true, and how it came about.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/core/base/json.h"
#include "harness/engine/timing/ceilings.h"

namespace assay {
namespace {

Json MakeAssayCeiling(Json head, const char* unit, double value, const std::string& how) {
  head.update({{unit, value}, {"origin", "assay"}, {"bounds", true}, {"how", how}});
  return head;
}

Json MakeSheetCeiling(Json head, const char* unit, double value, const SheetEntry& entry) {
  head.update({{unit, value}, {"origin", "data sheet"}, {"bounds", true}, {"how", entry.where}});
  head["name"] = entry.name;
  return head;
}

Json MakeBackendCeiling(Json head, const char* unit, const Witness& witness) {
  head.update({{unit, witness.value}, {"origin", "backend"}, {"bounds", false}, {"how", witness.how}});
  head.update({{"backend", witness.backend}, {"device", witness.device}});
  head.update({{"case_id", witness.case_id}, {"implementation", witness.implementation}});
  return head;
}

}  // namespace

Json Ceilings::ToJson() const {
  Json memory = Json::array(), compute = memory, launch = memory, given_up = memory;
  for (const SheetEntry& entry : sheet_.entries) {
    if (entry.gbytes_per_s) {
      memory.push_back(MakeSheetCeiling(Json::object(), "gbytes_per_s", *entry.gbytes_per_s, entry));
    }
    for (const auto& [type, gflops] : entry.gflops)
      compute.push_back(MakeSheetCeiling({{"dtype", type}}, "gflops", gflops, entry));
  }
  const auto of_memory = [&](const std::string& hardware) {
    return Json{{"hardware", hardware}, {"cache_bytes", CacheBytes(hardware)}};
  };
  if (!host_memory_how_.empty()) {
    const Json head = of_memory(kHostHardware);
    const auto& [read, copy] = host_bandwidth_;
    memory.push_back(MakeAssayCeiling(head, "gbytes_per_s", read, "read " + host_memory_how_));
    memory.push_back(MakeAssayCeiling(head, "gbytes_per_s", copy, "copy " + host_memory_how_));
  }
  for (const auto& [hardware, witnesses] : witnesses_.bandwidths()) {
    for (const Witness& witness : witnesses)
      memory.push_back(MakeBackendCeiling(of_memory(hardware), "gbytes_per_s", witness));
  }
  const auto of_compute = [](const std::string& hardware, DType dtype) {
    return Json{{"hardware", hardware}, {"dtype", Name(dtype)}};
  };
  const HostPeak peak = host_peak_.value_or(HostPeak());
  if (peak.f32_gflops) {
    compute.push_back(
        MakeAssayCeiling(of_compute(kHostHardware, DType::kF32), "gflops", *peak.f32_gflops, peak.f32_how));
    compute.push_back(
        MakeAssayCeiling(of_compute(kHostHardware, DType::kF64), "gflops", *peak.f64_gflops, peak.f64_how));
  }
  for (const auto& [key, witnesses] : witnesses_.matmuls()) {
    for (const Witness& witness : witnesses) {
      compute.push_back(MakeBackendCeiling(of_compute(key.first, key.second), "gflops", witness));
    }
  }
  for (const auto& [selector, witness] : witnesses_.launches()) {
    if (witness) launch.push_back(MakeBackendCeiling({{"selector", selector}}, "seconds", *witness));
  }
  for (const auto& [hardware, why] : unmeasured_) {
    given_up.push_back({{"hardware", hardware}, {"selector", nullptr}, {"reason", why}});
  }
  for (const auto& [selector, why] : witnesses_.given_up()) {
    const auto device = std::ranges::find(devices_, selector, &Device::selector);
    given_up.push_back({{"hardware", HardwareOf(*device)}, {"selector", selector}, {"reason", why}});
  }
  return {{"schema_version", 1}, {"seconds", seconds_}, {"memory", memory},
          {"compute", compute},  {"launch", launch},    {"given_up", given_up}};
}

}  // namespace assay
