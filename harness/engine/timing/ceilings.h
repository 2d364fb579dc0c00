// SPDX-License-Identifier: Apache-2.0
// Peak rates of a run's devices, determined when the first timed case asks for them. A limit comes from assay's own
// measurement of the host or from the user (harness/engine/perf/data_sheet.h): any rate above it is false. Without a
// limit, rates that other backends reach on the same hardware are shown, which prove nothing. Nothing else may run
// during the measurement.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/model/contract.h"
#include "harness/core/model/record_list.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/device/device.h"
#include "harness/engine/perf/data_sheet.h"
#include "harness/engine/perf/host_peak.h"
#include "harness/engine/perf/machine_state.h"
#include "harness/engine/perf/roofline.h"
#include "harness/engine/timing/witnesses.h"

namespace assay {

// How the host is measured; tests have their own.
struct HostMeasures {
  std::function<double()> available_bytes = AvailableBytes;
  std::function<HostPeak(int threads)> peak = MeasureHostPeak;
  std::function<NarrowUnits()> units = NarrowUnitsOfHost;
  std::function<double()> cache_bytes = [] { return HostCacheBytes(); };
};

class Ceilings {
 public:
  // `devices` outlives this. `implementations`: --impl; they alone are tried where they are offered.
  Ceilings(const std::vector<Device>& devices, std::vector<std::string> implementations,
           std::function<bool()> interrupted, DataSheet sheet = {}, HostMeasures host = {});

  // For a case of this type whose operands are rounded like this. `above`: a result lies above, as after measuring
  // beside other work; it is measured again, at most twice, and can only grow.
  Ceiling FindCeiling(const Device& device, DType dtype, InputRounding in, Above above = {});

  // By the worker's clock around everything. Null where the device runs none of the cases that are tried.
  assay::Number LaunchSeconds(const Device& device);

  // Holds every record against what was measured in the end, so that those of one run have the same ceilings.
  void SetFinal(RecordList& records);

  Json ToJson() const;

 private:
  // At most so often is what was too low measured again, of each kind.
  bool MayRepeat(const std::string& kind) { return again_[kind]++ < 2; }
  Rate MemoryOf(const Device& device, bool above);
  void MeasureHostMemory();
  Rate HostPeakOf(DType arithmetic, bool above);
  Rate WitnessOf(const Device& device, DType arithmetic, bool above);
  std::vector<std::string> NamesOf(const Device& device) const;
  double CacheBytes(const std::string& hardware) const;

  const std::vector<Device>& devices_;
  DataSheet sheet_;
  HostMeasures host_;
  Witnesses witnesses_;
  HostBandwidth host_bandwidth_;
  std::string host_memory_how_;
  std::optional<HostPeak> host_peak_;
  std::map<std::string, int> again_;
  std::map<std::string, std::string> unmeasured_;  // hardware without a bandwidth: why
  double seconds_ = 0;                             // that all this took
};

// How many bytes a probe of the bandwidth goes through: four times the caches, or half of the memory that is available
// where that is less. An error where this is not even twice the caches, which would answer themselves.
Result<double> BandwidthProbeBytes(double cache_bytes, double available_bytes);

// How many of the case's counted operations an implementation of this contract surely does; 0: not known.
double FewestFlopsOf(const Problem& problem, const Contract& contract);

}  // namespace assay
