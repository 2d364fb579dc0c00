// SPDX-License-Identifier: Apache-2.0
// What the devices of a run can do at most, measured when the first timed case asks for it: the bandwidth of their
// memory, the rate of their fastest matmul for each type, the time of a smallest launch. Nothing else may run then.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/cases/host_memory.h"
#include "harness/model/contract.h"
#include "harness/perf/roofline.h"
#include "harness/run/device.h"

namespace assay {

// A measured rate or time, and how it came about.
struct Probe {
  double value = 0;  // GB/s, GFLOP/s or seconds
  std::string backend, device, case_id, implementation, how;
};

class Ceilings {
 public:
  // `devices` outlives this. `implementations`: --impl; they alone are tried where they are offered.
  Ceilings(const std::vector<Device>& devices, std::vector<std::string> implementations,
           std::function<bool()> interrupted, std::function<double()> available_bytes = AvailableBytes);

  // Of the hardware below this device: several backends that compute on the same processors share their ceilings. The
  // first case of a type has it measured, some tenths of a second for each of them. `above`: a result lies above the
  // compute rate, as after measuring it beside other work; it is measured again, at most twice, and can only grow.
  Ceiling For(const Device& device, DType dtype, bool above = false);

  // By the worker's clock around everything. Null where the device runs none of the cases that are tried.
  assay::Number LaunchSeconds(const Device& device);

  // Holds every record against what was measured in the end, so that those of one run have the same ceilings.
  void SetFinal(std::vector<Record>& records);

  nlohmann::ordered_json Json() const;

 private:
  struct Rate {
    std::optional<Probe> best;
    std::vector<Probe> all;  // the best of each device
    int again = 0;           // how often it was measured once more
  };
  void MeasureBandwidth(const std::string& hardware);
  void MeasureMatmul(const Device& asking, DType dtype);
  std::optional<Probe> FindFastestMatmul(const Device& device, DType dtype, bool others);
  std::vector<const Device*> DevicesOn(const std::string& hardware) const;
  double CacheBytes(const std::string& hardware) const;

  const std::vector<Device>& devices_;
  std::vector<std::string> implementations_;
  std::function<bool()> interrupted_;
  std::function<double()> available_bytes_;
  std::map<std::string, Rate> bandwidth_;                 // by hardware
  std::map<std::pair<std::string, DType>, Rate> matmul_;  // by hardware and type of the operands
  std::map<std::string, std::optional<Probe>> launch_;    // by selector
  std::map<std::string, std::string> given_up_;           // selectors that crashed or hung: why
  std::map<std::string, std::string> unmeasured_;         // hardware without a bandwidth: why
  double seconds_ = 0;                                    // that all this took
};

// How many bytes a probe of the bandwidth goes through: four times the caches, or half of the memory that is available
// where that is less. An error where this is not even twice the caches, which would answer themselves.
Result<double> BandwidthProbeBytes(double cache_bytes, double available_bytes);

inline constexpr const char* kHostHardware = "host";

// kHostHardware for what runs on the processors of this machine, else the name of the device.
std::string HardwareOf(const Device& device);

// Whether its operations are those that are counted: Winograd and fast transforms do fewer.
bool DoesWhatIsCounted(const std::string& op, const Contract& contract);

// The value of "key" in "key=value;key=value"; "" when it is not there.
std::string Property(const std::string& properties, std::string_view key);

}  // namespace assay
