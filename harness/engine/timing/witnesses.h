// SPDX-License-Identifier: Apache-2.0
// Rates that backends reach on hardware that they share. They are comparisons, not limits: a fast library exceeds a
// slow one's, and a backend that forges its times is among them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"

namespace assay {

// Small cases that are timed for what they tell of a device. Their results are not judged.
struct ProbeTime {
  std::string implementation;
  double best_s = 0;  // the fastest repetition by the clock of the backend
  double wall_s = 0;  // the mean by the worker's, around everything
};

struct ProbeSettings {
  double max_seconds = 0.05;           // for each implementation
  std::vector<std::string> preferred;  // those that are tried where they are offered; empty: all
  bool others = true;                  // all are tried where none of those is offered
  std::set<std::string> left_out;
};

// The implementations that do the operations that are counted. Empty where the case is not offered. An error says that
// the worker did not survive.
Call<std::vector<ProbeTime>> TimeProbe(const Device& device, const Problem& problem, const ProbeSettings& settings);

// Precondition: the id is of a case that its operator takes.
Problem ProblemOf(const std::string& case_id);

// A measured rate or time, and how it came about.
struct Witness {
  double value = 0;  // GB/s, GFLOP/s or seconds
  std::string backend, device, plugin, case_id, implementation, how;
};

class Witnesses {
 public:
  // `devices` outlives this. `implementations`: --impl; they alone are tried where they are offered.
  Witnesses(const std::vector<Device>& devices, std::vector<std::string> implementations,
            std::function<bool()> interrupted);

  // The best of each device on the hardware; measured at the first call, and again when `again` says so: it can only
  // grow. Through `bytes` of memory by the operators that do little else; by matmuls of a type.
  const std::vector<Witness>& Bandwidth(const std::string& hardware, double bytes, bool again);
  const std::vector<Witness>& Matmul(const Device& asking, DType dtype, bool again);
  // A smallest launch, by the worker's clock around everything; none where the device runs no case that is tried.
  const std::optional<Witness>& Launch(const Device& device);

  const std::map<std::string, std::vector<Witness>>& bandwidths() const { return bandwidth_; }              // hardware
  const std::map<std::pair<std::string, DType>, std::vector<Witness>>& matmuls() const { return matmul_; }  // and type
  const std::map<std::string, std::optional<Witness>>& launches() const { return launch_; }                 // selector
  const std::map<std::string, std::string>& given_up() const { return given_up_; }  // selectors that crashed: why

 private:
  std::vector<const Device*> FindDevicesOn(const std::string& hardware) const;
  std::optional<Witness> FindFastestMatmul(const Device& device, DType dtype, bool others);

  const std::vector<Device>& devices_;
  std::vector<std::string> implementations_;
  std::function<bool()> interrupted_;
  std::map<std::string, std::vector<Witness>> bandwidth_;
  std::map<std::pair<std::string, DType>, std::vector<Witness>> matmul_;
  std::map<std::string, std::optional<Witness>> launch_;
  std::map<std::string, std::string> given_up_;
};

// The fastest that is not of the device's own plugin, under whatever name that was loaded; else the plugin's own. Null
// where there is none.
struct WitnessFor {
  const Witness* witness = nullptr;
  bool own = false;
};
WitnessFor FindWitness(const std::vector<Witness>& witnesses, const Device& device);

inline constexpr const char* kHostHardware = "host";

// kHostHardware for what runs on the processors of this machine, else the name of the device.
std::string HardwareOf(const Device& device);

// Bytes of the last-level cache: of the host's processors as the operating system says, of another device in the words
// of its plugin. 0: unknown.
double CacheBytesOf(const Device& device);

// The value of "key" in "key=value;key=value"; "" when it is not there.
std::string Property(const std::string& properties, std::string_view key);

}  // namespace assay
